"""Bases for the admin of both applications."""
