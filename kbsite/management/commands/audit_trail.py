"""Write the audit trail as JSON lines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from common.audit.models import Kind
from common.audit.trail import lines, record


class Command(BaseCommand):
    help = "Write the audit trail to standard output: one JSON object a line, the oldest first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--since", default="", metavar="TIME", help="2026-01-31 or with a time")
        parser.add_argument("--until", default="", metavar="TIME", help="not including it")

    def handle(self, *args: Any, since: str, until: str, **options: Any) -> None:
        bounds = {"since": _time(since), "until": _time(until)}
        record(Kind.EXPORTED, subject="audit trail")
        for line in lines(**bounds):
            self.stdout.write(line, ending="")


def _time(text: str) -> datetime | None:
    """The time; of a date its beginning; None for nothing. Raises CommandError."""
    if not text:
        return None
    try:
        time = parse_datetime(text)
        if time is None and (day := parse_date(text)) is not None:
            time = datetime.combine(day, datetime.min.time())
    except ValueError:
        time = None
    if time is None:
        raise CommandError(f"“{text}” is no time. Write 2026-01-31 or 2026-01-31T12:00.")
    return time if timezone.is_aware(time) else timezone.make_aware(time)
