"""`manage.py migrate`, one at a time: machines that start the same upgrade wait for each other."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from common.database import MIGRATION

POLL_SECONDS = 0.5


class Command(migrate.Command):
    """Django's, under a lock of the database."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            # Not by waiting within Postgres: an index that is built concurrently would wait for it.
            while not cursor.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATION]).fetchone()[0]:
                time.sleep(POLL_SECONDS)
        try:
            return super().handle(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION])
