"""Starts the embedded servers that the settings use: called first by every entry point."""

from __future__ import annotations

import sys

from django.conf import settings

from kbsite.embedded import EmbeddedServersError

# Seconds to wait for the database, with time left to answer 503 within two. Guesses.
READERS_PATIENCE = 1.5
patience = 10.0  # of this process, of workers and commands; the web server's has READERS_PATIENCE


def ensure_servers() -> None:
    """Start every embedded server in use, unless it runs: a few milliseconds if all do.

    Exits with the reason if one cannot be started: a traceback would obscure what to do.
    """
    postgres, redis = settings.EMBEDDED_POSTGRES, settings.EMBEDDED_REDIS
    try:
        if postgres or redis:
            settings.EMBEDDED.start(postgres=postgres, redis=redis)
    except EmbeddedServersError as error:
        sys.exit(f"Steelyard cannot start its database: {error}")
