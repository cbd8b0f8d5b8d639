"""`manage.py ingest PATH... --collection NAME`: files and folders through the upload path."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ingestion import services
from ingestion.errors import IngestionError, UnsupportedType
from ingestion.management.intake import IntakeCommand
from ingestion.models import Collection, Document, Lane, SourceKind, State

MAX_SOURCE_CHARS = Document._meta.get_field("source").max_length


@dataclass(slots=True)
class Summary:
    """What became of each file. `follow` holds the versions to wait for."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    retried: int = 0
    duplicates: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unsupported: Counter[str] = field(default_factory=Counter)
    follow: list[int] = field(default_factory=list)


class Command(IntakeCommand):
    help = (
        "Puts files into a collection. Folders are walked; a second run ingests only what is new "
        "or has changed, and tries again what failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--collection", required=True, help="Its name; made if it is missing.")
        self.add_collection_arguments(parser, language="ISO 639-1 code of the new documents.")
        self.add_no_wait(parser, leave="the files are queued")
        parser.add_argument("--wait", action="store_true", default=True, help="The default.")

    def handle(self, *args: Any, **options: Any) -> None:
        if missing := [str(path) for path in options["paths"] if not path.exists()]:
            raise CommandError(f"There is no such file or folder: {', '.join(missing)}")
        collection = self.collection(options["collection"], options)
        summary = Summary()
        for path, named in _files(options["paths"]):
            self._receive(collection, path, named, options["language"] or "", summary)
        failures = self.wait_for(summary.follow) if options["wait"] else 0
        self._report(summary, waited=options["wait"])
        if failures or summary.refused:
            raise CommandError(f"{failures + len(summary.refused)} file(s) cannot be searched.")

    def _receive(
        self, collection: Collection, path: Path, named: bool, language: str, summary: Summary
    ) -> None:
        shown = os.fsencode(path).decode("utf-8", "replace")
        if len(shown) > (MAX_SOURCE_CHARS or len(shown)):
            summary.refused.append(f"{shown}: the path is longer than {MAX_SOURCE_CHARS} letters.")
            return
        try:
            with path.open("rb") as file:
                receipt = services.receive(
                    collection,
                    file,
                    file_name=Path(shown).name,
                    source=shown,
                    source_kind=SourceKind.PATH,
                    language=language,
                    acting_user=None,
                    lane=Lane.BULK,
                )
        except UnsupportedType as error:
            # A folder may hold anything; a file that was named was meant.
            if named:
                summary.refused.append(f"{shown}: {error}")
            else:
                summary.unsupported[path.suffix.lower() or "no extension"] += 1
        except IngestionError as error:
            summary.refused.append(f"{shown}: {error}")
        except OSError as error:
            summary.refused.append(f"{shown}: cannot be read: {error.strerror}.")
        else:
            _count(receipt, shown, summary)

    def _report(self, summary: Summary, *, waited: bool) -> None:
        for line in summary.refused:
            self.stderr.write(f"Refused: {line}")
        for line in summary.duplicates:
            self.stdout.write(f"Duplicate: {line}")
        if summary.unsupported:
            kinds = ", ".join(f"{count} {kind}" for kind, count in summary.unsupported.items())
            self.stdout.write(f"Skipped, no parser reads them: {kinds}")
        counts = {
            "new": summary.new,
            "changed": summary.changed,
            "unchanged": summary.unchanged,
            "tried again": summary.retried,
            "duplicate": len(summary.duplicates),
            "refused": len(summary.refused),
        }
        shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        self.stdout.write((shown or "no files") + ("" if waited else "; queued for the workers"))


def _count(receipt: services.Receipt, source: str, summary: Summary) -> None:
    document, version = receipt.document, receipt.version
    if not receipt.duplicate:
        summary.changed += receipt.replaced
        summary.new += not receipt.replaced
        summary.follow.append(version.pk)
    elif version.state == State.FAILED and services.retry([document], acting_user=None):
        summary.retried += 1
        summary.follow.append(version.pk)
    else:
        if document.source == source:
            summary.unchanged += 1
        else:
            summary.duplicates.append(f"{source} has the bytes of “{document.title}”")
        if version.is_open:
            summary.follow.append(version.pk)


def _files(paths: list[Path]) -> Iterator[tuple[Path, bool]]:
    """Each file once, absolute, in order, and whether it was named itself; hidden ones are not."""
    seen = set()
    for given in paths:
        found = [given] if given.is_file() else _walk(given)
        for path in found:
            absolute = path.resolve()
            if absolute not in seen:
                seen.add(absolute)
                yield absolute, given.is_file()


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith(".") and path.is_file():
                yield path
