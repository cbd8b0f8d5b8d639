"""Secrets in the database, enciphered with a key that is not in it: derived from SECRET_KEY."""

from __future__ import annotations

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


def encipher(text: str) -> str:
    """The text, enciphered under SECRET_KEY."""
    return _cipher().encrypt(text.encode()).decode()


def decipher(text: str) -> str:
    """What was enciphered under SECRET_KEY or one of SECRET_KEY_FALLBACKS; empty if under none."""
    try:
        return _cipher().decrypt(text.encode()).decode()
    except InvalidToken:
        return ""


def _cipher() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derived(str(key))) for key in keys])


def _derived(key: str) -> bytes:
    # The key is long and random: no slow derivation is needed.
    return base64.urlsafe_b64encode(hashlib.sha256(b"steelyard.accounts." + key.encode()).digest())
