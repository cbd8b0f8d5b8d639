"""`manage.py import PATH|ADDRESS --collection NAME`: a folder, ZIP archive, manifest or web pages.

What it does is kept as an import, so that `--resume` goes on after a kill or a mended error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from ingestion.errors import IngestionError
from ingestion.intake.importing import services
from ingestion.intake.importing.archives import PATH
from ingestion.intake.importing.manifests import BASE
from ingestion.intake.importing.protocol import MANIFEST_ENDS
from ingestion.intake.importing.runner import run
from ingestion.intake.importing.services import Counts, counts_of
from ingestion.management.intake import IntakeCommand
from ingestion.models import DocumentVersion, Import, ImportItem
from ingestion.models.library import UNFINISHED

Kind = Import.Kind
LOOK_SECONDS = 0.5


class Command(IntakeCommand):
    help = (
        "Imports a folder, the members of a ZIP archive, what a manifest (CSV or JSON Lines) "
        "names, or web pages, each as a document of its own. An import that was stopped goes on "
        "with --resume; a finished one can be repeated: only what changed is taken in."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("origin", nargs="?", metavar="PATH|ADDRESS")
        parser.add_argument("--collection", help="Its name; made if it is missing.")
        parser.add_argument("--resume", type=int, metavar="ID", help="Go on with that import.")
        parser.add_argument("--list", action="store_true", help="Show the latest imports.")
        parser.add_argument(
            "--kind",
            choices=[kind.value for kind in Kind],
            help="What the origin is (default: told by its name and by --depth).",
        )
        parser.add_argument(
            "--depth", type=int, help="For an address: how many links from it are followed."
        )
        self.add_collection_arguments(parser, language="ISO 639-1 code of what states none.")
        self.add_no_wait(parser, leave="all is taken and queued")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            self._list()
            return
        try:
            of = self._resumed(options) if options["resume"] else self._started(options)
            self.stdout.write(f"Import {of.pk}: {of.origin}")
            counts = self._run(of)
        except IngestionError as error:
            raise CommandError(str(error)) from None
        failures = self._follow(of) if options["wait"] else 0
        self._tell(of, counts, waited=options["wait"])
        if failures or counts.failed:
            raise CommandError(f"{failures + counts.failed} item(s) cannot be searched.")

    def _started(self, options: dict[str, Any]) -> Import:
        origin = options["origin"]
        if not origin or not options["collection"]:
            raise CommandError("Name what to import, and the --collection it goes into.")
        kind = Kind(options["kind"]) if options["kind"] else kind_of(origin, options["depth"])
        given: dict[str, Any] = {}
        if kind in (Kind.ARCHIVE, Kind.MANIFEST, Kind.FOLDER):
            path = Path(origin).resolve()
            if not path.exists():
                raise CommandError(f"There is no such file or folder: {origin}")
            origin = str(path)
            given = {PATH: origin, BASE: str(path.parent)} if path.is_file() else {}
        elif options["depth"] is not None:
            given = {"depth": options["depth"]}
        return self._start(kind, origin, given, options)

    def _start(
        self, kind: Import.Kind, origin: str, given: dict[str, Any], options: dict[str, Any]
    ) -> Import:
        return services.start(
            self.collection(options["collection"], options),
            kind,
            origin,
            options=given,
            language=options["language"] or "",
            acting_user=None,
            by_command=True,
        )

    def _resumed(self, options: dict[str, Any]) -> Import:
        of = Import.objects.filter(pk=options["resume"]).first()
        if of is None:
            raise CommandError(f"There is no import {options['resume']}. See: import --list")
        services.resume(of, acting_user=None, by_command=True)
        services.retry(of, acting_user=None, by_command=True)
        return of

    def _run(self, of: Import) -> Counts:
        """The counts once all is taken. Raises CommandError where it was stopped or failed."""
        try:
            with _shown(of) as show:
                while run(of.pk, seconds=float("inf"), by_command=True, check=show):
                    pass
        except KeyboardInterrupt:
            services.stop(of, acting_user=None)
            raise CommandError(f"Interrupted. It goes on with: import --resume {of.pk}") from None
        of.refresh_from_db()
        if of.state == Import.State.FAILED:
            raise CommandError(f"{of.error} Then: import --resume {of.pk}")
        if of.state == Import.State.CANCELLED:
            raise CommandError(f"It was stopped. It goes on with: import --resume {of.pk}")
        if of.is_open:
            held = "Another process works on it, or a server asked for a pause."
            raise CommandError(f"{held} It goes on with: import --resume {of.pk}")
        return counts_of([of])[of.pk]

    def _follow(self, of: Import) -> int:
        """How many of its documents failed, once all are finished."""
        documents = ImportItem.objects.filter(of=of).exclude(document=None).values("document")
        versions = DocumentVersion.objects.filter(document__in=documents, state__in=UNFINISHED)
        return self.wait_for(list(versions.values_list("pk", flat=True)))

    def _tell(self, of: Import, counts: Counts, *, waited: bool) -> None:
        for item in ImportItem.objects.filter(of=of, state=ImportItem.State.FAILED):
            self.stderr.write(f"Failed: {item.reference}: {item.message}")
        self.stdout.write((str(counts) or "nothing") + ("" if waited else "; queued"))

    def _list(self) -> None:
        imports = list(Import.objects.select_related("collection")[:20])
        counts = counts_of(imports)
        for of in imports:
            said = f"{of.get_state_display().lower()}; {counts[of.pk]}"
            self.stdout.write(f"{of.pk:>5}  {of.collection}: {of.origin}: {said}")


def kind_of(origin: str, depth: int | None = None) -> Import.Kind:
    """What an origin is, told by its name: an address by its end and by whether links count."""
    if origin.startswith(("http://", "https://")):
        if origin.partition("?")[0].endswith((".xml", ".xml.gz")):
            return Kind.SITEMAP
        return Kind.SITE if depth else Kind.URL
    path = Path(origin)
    if path.is_dir():
        return Kind.FOLDER
    if path.suffix.lower() in MANIFEST_ENDS:
        return Kind.MANIFEST
    if path.suffix.lower() == ".zip":
        return Kind.ARCHIVE
    raise CommandError(
        f"{origin} is no folder, .zip archive, manifest (.csv, .jsonl) or address. For a file as "
        "one document: manage.py ingest. Or say what it is: --kind."
    )


@contextmanager
def _shown(of: Import) -> Iterator[Callable[[], None]]:
    """A function that draws how far an import is, at most every half second."""
    bar = tqdm(disable=not sys.stderr.isatty(), leave=False, unit=" items")
    last = 0.0

    def show() -> None:
        nonlocal last
        if bar.disable or time.monotonic() - last < LOOK_SECONDS:
            return
        last = time.monotonic()
        counts = counts_of([of])[of.pk]
        bar.total, bar.n = counts.total, counts.done
        bar.set_postfix_str(str(counts), refresh=False)
        bar.refresh()

    with bar:
        yield show
