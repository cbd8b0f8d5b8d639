"""The site's gunicorn configuration with time limits that fit a test."""

from __future__ import annotations

from typing import Any

from kbsite import gunicorn as usual
from kbsite.gunicorn import *  # noqa: F403
from kbsite.serving import connections

connections.HEADER_SECONDS = 1.0
connections.WRITE_SECONDS = 1.0
worker_connections = 80


def post_worker_init(worker: Any) -> None:
    # Not before the settings are there.
    from kbsite.serving import bodies

    bodies.SECONDS = 1.0
    bodies.LEAST_RATE = 10_000
    usual.post_worker_init(worker)
