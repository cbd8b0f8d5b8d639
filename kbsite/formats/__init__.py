"""Formats of dates on all pages (FORMAT_MODULE_PATH)."""
