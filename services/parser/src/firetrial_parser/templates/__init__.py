"""Texts that are handed out, one file a version; a changed text gets a new number."""
