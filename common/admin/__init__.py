"""Base classes for the admin of both apps."""
