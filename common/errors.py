"""The base of every error whose message is fit for users."""

from __future__ import annotations


class UserError(Exception):
    """An error whose text says what was wrong and what to do."""
