"""The model gateway: the one address that a sandbox reaches, where keys, allow-lists and budgets are."""
