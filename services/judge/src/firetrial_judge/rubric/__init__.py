"""Rubrics: trees of questions about a submission's paper, code and logs, and what a submission is worth."""
