"""Choosing papers: many are screened by rules and models, and people review what is left, and the trees."""
