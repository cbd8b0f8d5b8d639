"""The servers and keys that the settings allow an embedding space to use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext

from ingestion.embedding.config import OPENAI_BASE_URL
from ingestion.errors import EmbeddingRejected

KEY_OF_THE_SETTINGS = "OPENAI_API_KEY"
# Stricter than any library that reads it, so that all of them read the same host.
_ADDRESS = re.compile(
    r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:/[\w./~-]*)?",
    re.IGNORECASE | re.ASCII,
)
_PORTS = {"http": 80, "https": 443}


def origin(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of a server's address in its plain form; None for any other text."""
    if not _ADDRESS.fullmatch(address):
        return None
    parts = urlsplit(address.lower())
    try:
        return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]
    except ValueError:  # a port above 65535
        return None


def require_address(address: str | None) -> None:
    """Raise EmbeddingRejected unless the settings name the server at `address`.

    None is OpenAI's own. Paths do not count. The server's name is resolved as it is for the
    settings' own server: a private address is a normal one for a model on the same network.
    """
    ours = settings.EMBEDDER_OPTIONS.get("openai", {}).get("base_url")
    allowed = (OPENAI_BASE_URL, *([ours] if ours else []), *settings.EMBEDDING_ADDRESSES)
    if not address or address == ours:
        return
    requested_origin = origin(address)
    if requested_origin is not None and requested_origin in map(origin, allowed):
        return
    raise EmbeddingRejected(
        gettext(
            "No texts are sent to %(address)s: this server is not in the settings. Ask an "
            "administrator of the machine to add its address to EMBEDDING_ADDRESSES, for the web "
            "server and the workers, and to restart them."
        )
        % {"address": "".join(c if c.isprintable() else "?" for c in address[:200])}
    )


def require_key(name: str) -> None:
    """Raise EmbeddingRejected unless the settings name this environment variable as a key."""
    if name in ("", KEY_OF_THE_SETTINGS, *settings.EMBEDDING_KEY_VARIABLES):
        return
    raise EmbeddingRejected(
        gettext(
            "The variable %(name)s is not sent to a model's server: it is not in the settings. "
            "Ask an administrator of the machine to add its name to EMBEDDING_KEY_VARIABLES, for "
            "the web server and the workers, and to restart them."
        )
        % {"name": "".join(c if c.isprintable() else "?" for c in name[:100])}
    )


def why_refused(config: Mapping[str, Any]) -> str:
    """The reason why the settings do not allow this `config` of a space; empty if they do."""
    try:
        require_key(str(config.get("api_key_env", "")))
        require_address(config.get("base_url"))
    except EmbeddingRejected as error:
        return str(error)
    return ""
