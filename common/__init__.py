"""Code shared by both apps, importing neither."""

from __future__ import annotations


class UserError(Exception):
    """An error whose message states the problem and the remedy."""
