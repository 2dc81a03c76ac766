"""`firetrial doctor`: what is broken of an installation, found by looking at each part of it."""
