"""`manage.py import-url ADDRESS --collection NAME`: a page, what it links to, or a sitemap's pages.

The same as `manage.py import ADDRESS`, which does not know the options of the web.
"""

from __future__ import annotations

import importlib
import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from ingestion.intake.importing.services import Counts
from ingestion.intake.importing.web import MAX_DEPTH
from ingestion.models import Import

# "import" is a word of the language, and no name that a statement could take.
ImportCommand = importlib.import_module("ingestion.management.commands.import").Command


class Command(ImportCommand):  # type: ignore[misc, valid-type]
    help = (
        "Puts pages of the web into a collection: one address, with --depth what it links to on "
        "its host, or with --sitemap what a sitemap lists. A second run takes only what changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--max-pages", type=int, help="How many addresses are looked at, at most."
        )
        parser.add_argument(
            "--sitemap",
            action="store_true",
            help="The address is a sitemap's, or a site's whose robots.txt names its sitemaps.",
        )
        parser.add_argument(
            "--other-hosts", action="store_true", help="Follow links to other hosts, too."
        )

    def _started(self, options: dict[str, Any]) -> Import:
        if not options["origin"] or not options["collection"]:
            raise CommandError("Name the address, and the --collection that it goes into.")
        given: dict[str, Any] = {
            option: options[option]
            for option in ("depth", "max_pages", "other_hosts")
            if options[option]
        }
        if not 0 <= given.get("depth", 0) <= MAX_DEPTH:
            raise CommandError(f"--depth is a number from 0 to {MAX_DEPTH}.")
        of: Import = self._start(self._kind(options), options["origin"], given, options)
        return of

    def _kind(self, options: dict[str, Any]) -> Import.Kind:
        if options["sitemap"]:
            return Import.Kind.SITEMAP
        return Import.Kind.SITE if options["depth"] else Import.Kind.URL

    def _run(self, of: Import) -> Counts:
        """The counts once all is taken; a server that asks for a pause is given one."""
        while True:
            try:
                counts: Counts = super()._run(of)
                return counts
            except CommandError:
                of.refresh_from_db()
                if not of.is_open or of.not_before is None or of.not_before <= timezone.now():
                    raise
                pause = (of.not_before - timezone.now()).total_seconds()
                self.stdout.write(f"A server asked for a pause of {pause:.0f} seconds.")
                time.sleep(max(pause, 0.0))
