"""The base of every error whose message is fit for users."""

from __future__ import annotations


class UserError(Exception):
    """An error whose message states the problem and the remedy."""
