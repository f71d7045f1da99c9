"""What is measured on the label maps, one module per table."""
