"""Commands that tell what they do in lines of their own."""

from __future__ import annotations

import logging
from typing import Any

from django.core.management.base import BaseCommand


class PlainCommand(BaseCommand):
    """A command that prints its own lines: the library's log adds warnings only, all with -v 2."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        log = logging.getLogger("ingestion")
        level = log.level
        if options["verbosity"] < 2:
            log.setLevel(max(level, logging.WARNING))
        try:
            return super().execute(*args, **options)
        finally:
            log.setLevel(level)
