"""Starts the embedded servers that the settings ask for."""

from __future__ import annotations

import sys

from django.conf import settings

from kbsite.embedded import EmbeddedServersError, ensure_started


def ensure_servers() -> None:
    """Returns when every embedded server in use answers; at once where all are external.

    Exits with the reason where one cannot be started: a traceback would hide what to do.
    """
    try:
        ensure_started(
            settings.EMBEDDED,
            postgres=settings.EMBEDDED_POSTGRES,
            redis=settings.EMBEDDED_REDIS,
        )
    except EmbeddedServersError as error:
        sys.exit(f"Steelyard cannot start its database: {error}")
