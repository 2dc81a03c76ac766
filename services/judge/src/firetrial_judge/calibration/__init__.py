"""How right a judge is, measured against people's labels."""
