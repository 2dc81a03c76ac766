"""Patterns and weights as data, one file a version; a changed rule gets a new number."""
