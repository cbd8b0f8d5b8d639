"""The environment and .env, the project's directories, and the secret key."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from kbsite import layout

BASE_DIR: Path = layout.BASE_DIR
RESOURCES_DIR: Path = layout.RESOURCES_DIR
SITE_DIR: Path = layout.SITE_DIR
VERSION: str = tomllib.loads((RESOURCES_DIR / "pyproject.toml").read_text())["project"]["version"]
env = environ.Env()
environ.Env.read_env(layout.ENV_FILE)

VAR_DIR = layout.var_dir()


def entries(name: str, default: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a variable such as searches=500,answers=50, over those of `default`.

    Raises ImproperlyConfigured for an entry that `default` does not name, or of another type.
    """
    form = ",".join(f"{key}={value}" for key, value in default.items())
    try:
        entered = env.dict(name, default={})
        unknown = sorted(entered.keys() - default.keys())
        values = {key: type(default[key])(entered.get(key, default[key])) for key in default}
    except ValueError as error:
        text = f"{name} is written as {form}; each entry may be left out."
        raise ImproperlyConfigured(text) from error
    if unknown:
        raise ImproperlyConfigured(f"{name} has no {', '.join(unknown)}. Its entries: {form}")
    return values


_random = partial(secrets.token_urlsafe, 64)


def secret(name: str, make: Callable[[], str] = _random) -> str:
    """The secret stored in VAR_DIR/`name`: created on first use, readable by its owner only."""
    path = VAR_DIR / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Written completely, then linked: of processes that start together one wins, and
            # none reads an empty file. mkstemp makes it readable by its owner only.
            handle, draft = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "w") as file:
                file.write(make())
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            Path(draft).unlink()
        return path.read_text()
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot store a secret in {path}: {error.strerror}. Set STEELYARD_VAR to a "
            "directory with room that this user may write to."
        ) from error


SECRET_KEY = env.str("SECRET_KEY", default="") or secret("secret_key")


@cache
def signing_key() -> str:
    """The key that signs OpenID Connect's tokens (PEM), made when the first is asked for."""
    return secret("oauth_key", _private_key)


def _private_key() -> str:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
