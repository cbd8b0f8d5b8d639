"""`manage.py import_documents ORIGIN... --collection NAME`: add files, folders or web pages.

Each import is stored with the outcome of every item, so that an interrupted one can be resumed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from ingestion.documents import completeness
from ingestion.documents.progress import progress_view
from ingestion.errors import IngestionError, InvalidMetadata
from ingestion.intake import imports as importing
from ingestion.intake.import_archives import PATH
from ingestion.intake.import_folders import FILES, file_option
from ingestion.intake.import_protocol import MANIFEST_ENDS
from ingestion.intake.import_runner import run
from ingestion.intake.imports import counts_of
from ingestion.intake.manifests import BASE
from ingestion.management import WaitingCommand, language_code
from ingestion.metadata import Metadata, from_pairs
from ingestion.models import Collection, Document, Import, ImportItem, State
from ingestion.models.versions import UNFINISHED
from ingestion.services import retry

Kind = Import.Kind
FILE = "file"
WEB_OPTIONS = ("depth", "max_pages")
REDRAW_SECONDS = 0.5
LISTED_ITEMS = 10

# Kind, origin and options of an import that is not created yet.
Planned = tuple[Import.Kind, str, dict[str, Any]]


class Command(WaitingCommand):
    help = (
        "Import files, folders, ZIP archives (each member becomes a document), manifests (CSV or "
        "JSON Lines) and web pages into a collection. Run again, it imports only what is new or "
        "has changed and retries what failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("origins", nargs="*", metavar="PATH|ADDRESS")
        parser.add_argument("--collection", help="Name of the collection; created if missing.")
        parser.add_argument(
            "--resume", nargs="+", type=int, metavar="ID", help="Resume these imports."
        )
        parser.add_argument(
            "--kind",
            choices=[FILE, *Kind.values],
            help="How to read the origins (default: by their names). With “file”, an archive or "
            "a CSV file becomes one document.",
        )
        parser.add_argument(
            "--language",
            type=language_code,
            help="ISO 639-1 code of documents that do not state theirs (default: detected).",
        )
        parser.add_argument(
            "--metadata",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="Metadata of all documents; repeatable.",
        )

        self.add_no_wait(parser)
        web = parser.add_argument_group("options of web addresses")
        web.add_argument("--depth", type=int, metavar="N", help="Follow links, N levels deep.")
        web.add_argument("--max-pages", type=int, metavar="N", help="Request at most N pages.")

    def handle(self, *args: Any, **options: Any) -> None:
        imports = self._resumed(options["resume"]) if options["resume"] else self._started(options)
        problems = self._run_all(imports)
        versions = self._unfinished(imports)
        failed = self.wait_for(versions) if options["wait"] else 0
        for of in imports:
            failed += self._report(of, options)
        if failed:
            problems.append(f"{failed} item(s) cannot be searched.")
        if problems:
            raise CommandError("\n".join(problems))

    def _resumed(self, pks: list[int]) -> list[Import]:
        imports = Import.objects.in_bulk(pks)
        if missing := set(pks) - set(imports):
            raise CommandError(f"There is no import {min(missing)}. The admin lists them.")
        for of in imports.values():
            importing.resume(of, acting_user=None, by_command=True)
        return list(imports.values())

    def _started(self, options: dict[str, Any]) -> list[Import]:
        """Create an import for each origin, or none if one of them is refused."""
        if not options["origins"] or not options["collection"]:
            raise CommandError("Name what to import, and the --collection it goes into.")
        planned, metadata = list(_planned(options)), _metadata(options["metadata"])
        with transaction.atomic():
            collection, _ = Collection.objects.undeleted().get_or_create(name=options["collection"])
            return [_start(collection, one, options["language"] or "", metadata) for one in planned]

    def _run_all(self, imports: Sequence[Import]) -> list[str]:
        """Run the imports one after another; return the reasons why some did not finish."""
        problems = []
        try:
            for of in imports:
                self.stdout.write(f"Import {of.pk}: {_title(of)}")
                if problem := self._run(of):
                    problems.append(f"{problem} Then run: import_documents --resume {of.pk}")
        except KeyboardInterrupt:
            stopped = [of for of in imports if importing.stop(of, acting_user=None)]
            numbers = " ".join(str(of.pk) for of in stopped)
            raise CommandError(
                f"Interrupted. To continue, run: import_documents --resume {numbers}"
            ) from None
        return problems

    def _run(self, of: Import) -> str:
        """Run an import, with the pauses a web server requests; return why it did not finish."""
        redrawn = 0.0

        with progress_view(self.stdout.write, "items") as show:

            def redraw() -> None:
                nonlocal redrawn
                if time.monotonic() - redrawn > REDRAW_SECONDS:
                    redrawn = time.monotonic()
                    counts = counts_of([of])[of.pk]
                    show(counts.done, counts.total, str(counts))

            while True:
                while run(of.pk, seconds=float("inf"), by_command=True, check=redraw):
                    pass
                of.refresh_from_db()
                if not of.is_open:
                    break
                pause = (of.not_before - timezone.now()).total_seconds() if of.not_before else 0
                if pause <= 0:
                    return "Another process is running this import."
                self.stdout.write(f"A server asked for a pause of {pause:.0f} seconds.")
                time.sleep(pause)
        return "The import was stopped." if of.state == Import.State.CANCELLED else of.error

    def _unfinished(self, imports: Sequence[Import]) -> list[int]:
        """The versions that still have to be processed, after retrying those that failed before."""
        items = ImportItem.objects.filter(of__in=imports).exclude(document=None)
        duplicates = items.filter(state=ImportItem.State.DUPLICATE).values("document")
        documents = Document.objects.undeleted()
        failed = documents.filter(pk__in=duplicates, latest__state=State.FAILED)
        if count := retry(failed, acting_user=None):
            self.stdout.write(f"{count} tried again")
        open_or_failed = documents.filter(
            pk__in=items.values("document"), latest__state__in=(*UNFINISHED, State.FAILED)
        )
        return list(open_or_failed.values_list("latest", flat=True))

    def _report(self, of: Import, options: dict[str, Any]) -> int:
        """Print the outcome of an import; return how many items failed."""
        items = ImportItem.objects.filter(of=of).exclude(message="")
        for item in items.filter(state=ImportItem.State.FAILED):
            self.stderr.write(f"Failed: {item.reference}: {item.message}")
        others = items.exclude(state=ImportItem.State.FAILED)
        listed = others if options["verbosity"] > 1 else others[:LISTED_ITEMS]
        for item in listed:
            reason = item.message.partition(". ")[0]
            self.stdout.write(f"{item.get_state_display()}: {item.reference}: {reason}")
        if (hidden := others.count() - len(listed)) > 0:
            self.stdout.write(f"... and {hidden:,} more: give --verbosity 2, or see the admin.")
        partial = ImportItem.objects.filter(of=of, document__current__completeness__missing__gt=0)
        rows = partial.values_list("reference", "document__current__completeness")
        for reference, stored in rows if options["verbosity"] > 1 else rows[:LISTED_ITEMS]:
            self.stdout.write(f"Incomplete: {reference}: {completeness.summary(stored)}")
        counts = counts_of([of])[of.pk]
        queued = "" if options["wait"] else "; queued for the workers"
        self.stdout.write((str(counts) or "nothing to import") + queued)
        return counts.failed


def _planned(options: dict[str, Any]) -> Iterator[Planned]:
    """The imports to create: one for all single files, then one for each other origin."""
    files, others = [], []
    for origin in options["origins"]:
        kind = options["kind"] or _kind_of(origin, options["depth"])
        if kind in (Kind.URL, Kind.SITE, Kind.SITEMAP):
            web = {name: options[name] for name in WEB_OPTIONS if options[name] is not None}
            others.append((Kind(kind), origin, web))
            continue
        path = Path(origin).resolve()
        if not path.exists():
            raise CommandError(f"There is no such file or folder: {origin}")
        if kind == FILE:
            files.append(path)
        else:
            item = {PATH: str(path), BASE: str(path.parent)} if path.is_file() else {}
            others.append((Kind(kind), str(path), item))
    if files:
        folder = Path(os.path.commonpath([path.parent for path in files]))
        yield Kind.FOLDER, str(folder), file_option(path.relative_to(folder) for path in files)
    yield from others


def _metadata(pairs: Sequence[str]) -> Metadata:
    """The metadata in KEY=VALUE options. Raises CommandError."""
    try:
        return from_pairs(pairs)
    except InvalidMetadata as error:
        raise CommandError(f"--metadata: {error}") from None


def _start(collection: Collection, planned: Planned, language: str, metadata: Metadata) -> Import:
    """Create an import without running it. Raises CommandError if it is refused."""
    kind, origin, item = planned
    try:
        return importing.start(
            collection,
            kind,
            origin,
            options=item,
            language=language,
            metadata=metadata,
            acting_user=None,
            by_command=True,
        )
    except IngestionError as error:
        other = " To import it as one document: --kind file." if PATH in item else ""
        raise CommandError(f"{origin}: {error}{other}") from None


def _kind_of(origin: str, depth: int | None) -> str:
    """The kind of an origin: of an address by its suffix and `depth`, of a file by its name."""
    if origin.startswith(("http://", "https://")):
        if origin.partition("?")[0].endswith((".xml", ".xml.gz")):
            return Kind.SITEMAP
        return Kind.SITE if depth else Kind.URL
    path = Path(origin)
    if path.is_dir():
        return Kind.FOLDER
    if path.suffix.lower() in MANIFEST_ENDS:
        return Kind.MANIFEST
    return Kind.ARCHIVE if path.suffix.lower() == ".zip" else FILE


def _title(of: Import) -> str:
    """The import's origin, with the number of files if only some of a folder were named."""
    count = len(of.options.get(FILES, ()))
    return f"{count} file(s) in {of.origin}" if count else of.origin
