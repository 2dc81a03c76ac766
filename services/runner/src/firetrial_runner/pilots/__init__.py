"""Pilots: runners that are jobs of a cluster's scheduler, as many as there is work for."""
