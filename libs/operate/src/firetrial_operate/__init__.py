"""Keeping a Firetrial running: `firetrial admin`, `firetrial doctor`, `firetrial webhooks`."""
