"""`manage.py ingest PATH... --collection NAME`: files and folders through the upload path."""

from __future__ import annotations

import logging
import os
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from ingestion import services
from ingestion.errors import IngestionError, UnsupportedType
from ingestion.languages import primary_code
from ingestion.models import Collection, Document, Lane, SourceKind, State, Visibility
from ingestion.progress import ProgressView, Watch, WorkHere, follow, worker_answers

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


class Command(BaseCommand):
    help = (
        "Puts files into a collection. Folders are walked; a second run ingests only what is new "
        "or has changed, and tries again what failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--collection", required=True, help="Its name; made if it is missing.")
        parser.add_argument(
            "--visibility",
            choices=Visibility.values,
            help="Who may read a new collection (default: signed_in).",
        )
        parser.add_argument(
            "--group", action="append", default=[], help="With --visibility groups; repeatable."
        )
        parser.add_argument(
            "--language", type=language_code, help="ISO 639-1 code of the new documents."
        )
        parser.add_argument(
            "--no-wait",
            dest="wait",
            action="store_false",
            help="Leave when the files are queued; workers must be running.",
        )
        parser.add_argument("--wait", action="store_true", default=True, help="The default.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verbosity"] < 2:
            logging.getLogger("ingestion").setLevel(logging.WARNING)
        if missing := [str(path) for path in options["paths"] if not path.exists()]:
            raise CommandError(f"There is no such file or folder: {', '.join(missing)}")
        collection = self._collection(options["collection"], options)
        summary = Summary()
        for path, named in _files(options["paths"]):
            self._receive(collection, path, named, options["language"] or "", summary)
        failures = self._wait(summary) if options["wait"] else 0
        self._report(summary, waited=options["wait"])
        if failures or summary.refused:
            raise CommandError(f"{failures + len(summary.refused)} file(s) cannot be searched.")

    def _collection(self, name: str, options: dict[str, Any]) -> Collection:
        groups = [_group(group) for group in options["group"]]
        visibility = options["visibility"] or (Visibility.GROUPS if groups else "")
        if groups and visibility != Visibility.GROUPS:
            raise CommandError("--group goes with --visibility groups only.")
        defaults = {"visibility": visibility} if visibility else {}
        collection, made = Collection.objects.kept().get_or_create(name=name, defaults=defaults)
        if made:
            collection.groups.set(groups)
        elif visibility and visibility != collection.visibility:
            self.stderr.write(
                f"“{name}” stays visible to: {collection.get_visibility_display()}. Change that "
                "in the admin under Collections."
            )
        return collection

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

    def _wait(self, summary: Summary) -> int:
        """How many files failed; returns when all are finished."""
        if not summary.follow:
            return 0
        watch = Watch(summary.follow)
        with ExitStack() as stack:
            check = lambda: None  # noqa: E731
            if not worker_answers():
                self.stdout.write("No worker answers, so the files are processed here.")
                check = stack.enter_context(WorkHere(summary.follow)).check
            view = stack.enter_context(ProgressView(tqdm.write))
            try:
                follow(watch, view, check)
            except KeyboardInterrupt:
                raise CommandError(
                    "Interrupted. What is queued goes on with the next worker, or with this "
                    "command again."
                ) from None
        failures = watch.failures()
        for failure in failures:
            self.stderr.write(f"Failed: {failure.source or failure.file_name}: {failure.error}")
        return len(failures)

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
        if version.is_unfinished:
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


def language_code(value: str) -> str:
    code = primary_code(value)
    if not code:
        raise ArgumentTypeError(f"{value!r} is no language code: give two letters, such as en.")
    return code


def _group(name: str) -> Group:
    try:
        return Group.objects.get(name=name)
    except Group.DoesNotExist:
        raise CommandError(f"There is no group {name!r}. Make it in the admin first.") from None
