"""Prompts and the schemas of their answers. A version that was shipped is never changed."""
