"""The parsers, one family of formats a module."""
