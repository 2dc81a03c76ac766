"""Runs that were made elsewhere, taken in as finished ones."""
