"""FML-bench's task definitions, read into repository tasks. Nothing of them is run."""
