"""Plumbing that both apps need: it imports neither."""
