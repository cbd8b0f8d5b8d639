"""Encryption of a stored text with SECRET_KEY."""

from __future__ import annotations

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

# --- secrets in the database: enciphered with a key derived from SECRET_KEY ---


def encipher(text: str) -> str:
    """The text, encrypted with SECRET_KEY."""
    return _cipher().encrypt(text.encode()).decode()


def decipher(text: str) -> str:
    """The text, decrypted with SECRET_KEY or one of SECRET_KEY_FALLBACKS; empty if none fits."""
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
