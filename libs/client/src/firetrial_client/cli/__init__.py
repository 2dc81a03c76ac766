"""The command line `firetrial`."""
