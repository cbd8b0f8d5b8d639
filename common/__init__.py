"""Plumbing that both applications need. It imports neither."""
