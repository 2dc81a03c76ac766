"""Files that tasks expect to find in their workspace."""
