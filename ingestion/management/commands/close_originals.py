"""`manage.py close_originals`: the originals of older versions, closed to other users."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from ingestion.files.storage import close_originals


class Command(BaseCommand):
    help = "Closes each original and its folders to other users of this machine (0640 and 0750)."

    def handle(self, *args: Any, **options: Any) -> None:
        changed = close_originals(whole=True)
        self.stdout.write(f"{changed} modes changed.")
