"""Signing in over the web: the page, its refusals."""
