"""`firetrial admin`: what an operator looks at, moves, rebuilds, deletes and keeps."""
