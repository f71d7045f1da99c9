"""What each kind of host offers: a source becomes the list of its files, with every fact the host publishes about them."""
