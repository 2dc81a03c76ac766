"""What models are asked, one file a version; a changed text gets a new number."""
