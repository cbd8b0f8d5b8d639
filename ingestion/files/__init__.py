"""Stored files, their types and downloads."""
