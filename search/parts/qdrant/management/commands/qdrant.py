"""`manage.py qdrant`: fill Qdrant from Postgres, switch to what was filled, compare both."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from ingestion.management import PlainCommand
from search.parts.qdrant import rebuilding, syncing
from search.parts.qdrant.models import PointCollection

State = PointCollection.State


class Command(PlainCommand):
    help = (
        "status: what Qdrant holds and how far it is behind. rebuild: fill a new collection beside "
        "the one in use; workers do it, or this command with --here. switch: use the collection "
        "that was filled last; back: use the one before again. Workers compare all points with "
        "Postgres once a day, and repair what differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=[*_ACTIONS])
        parser.add_argument("--here", action="store_true", help="rebuild: fill it in this process.")
        parser.add_argument(
            "--shards", type=int, default=0, help="rebuild: 0 leaves the number to Qdrant."
        )
        parser.add_argument(
            "--replicas", type=int, default=1, help="rebuild: copies of each shard, on other nodes."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.QDRANT_URL:
            raise CommandError("QDRANT_URL is not set: see docs/scale.md.")
        for line in _ACTIONS[options["action"]](options):
            self.stdout.write(line)


def _status(options: dict[str, Any]) -> list[str]:
    rows = PointCollection.objects.order_by("pk")
    lines = [
        f"{row.name}: {row.get_state_display().lower()}, {row.filled} points written when filled"
        + (f", {row.differing} repaired at {row.checked_at:%Y-%m-%d %H:%M}" * bool(row.checked_at))
        + (f"; {row.error}" if row.error else "")
        for row in rows
    ]
    waiting, seconds = syncing.lag()
    behind = f"{waiting} changes wait, the oldest for {seconds:.0f} s"
    return [*(lines or ["no collection: run manage.py qdrant rebuild"]), behind]


def _rebuild(options: dict[str, Any]) -> list[str]:
    row = rebuilding.begin(shards=options["shards"], replicas=options["replicas"])
    if not options["here"]:
        return [f"{row.name} is being filled; manage.py qdrant status says when it is."]
    rebuilding.advance(row.pk)
    row.refresh_from_db()
    if row.state != State.READY:
        raise CommandError(row.error or f"{row.name} is being filled by a worker.")
    return [f"{row.name} is filled: {row.filled} points."]


def _switch(options: dict[str, Any]) -> list[str]:
    row = PointCollection.objects.filter(state=State.READY).order_by("-pk").first()
    if row is None:
        raise CommandError("No collection is filled: run manage.py qdrant rebuild first.")
    before = rebuilding.switch(row)
    note = f"; {before} is kept for a day" if before else ""
    return [f"Searches use {row.name}{note}."]


def _back(options: dict[str, Any]) -> list[str]:
    row = PointCollection.objects.filter(state=State.PREVIOUS).first()
    if row is None:
        raise CommandError("There is no collection to go back to: set RETRIEVAL_BACKEND=postgres.")
    rebuilding.switch(row)
    return [f"Searches use {row.name} again."]


_ACTIONS = {"status": _status, "rebuild": _rebuild, "switch": _switch, "back": _back}
