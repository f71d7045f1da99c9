"""What the chain stands on: geometry, readers, the store."""
