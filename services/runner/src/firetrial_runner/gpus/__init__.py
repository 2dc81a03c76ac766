"""GPUs: what a machine has, who has them, and what they do."""
