"""Starts the embedded servers that the settings use: called first by every entry point."""

from __future__ import annotations

import sys

from django.conf import settings

from kbsite.embedded import EmbeddedServersError, ensure_started


def ensure_servers() -> None:
    """Start every embedded server in use; do nothing if all are external.

    Exits with the reason if one cannot be started: a traceback would obscure what to do.
    """
    try:
        ensure_started(
            settings.EMBEDDED,
            postgres=settings.EMBEDDED_POSTGRES,
            redis=settings.EMBEDDED_REDIS,
        )
    except EmbeddedServersError as error:
        sys.exit(f"Steelyard cannot start its database: {error}")
