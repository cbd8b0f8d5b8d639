"""Base classes of commands: plain output instead of the log, and waiting for documents."""

from __future__ import annotations

import logging
from argparse import ArgumentTypeError
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from common import UserError
from ingestion.documents.progress import Watch, follow, progress_view, worker_answers
from ingestion.lexical import bm25_weights
from ingestion.lexical.languages import primary_code

_MISSING = ("42P01", "42703")  # PostgreSQL's codes of an undefined table and column


class PlainCommand(BaseCommand):
    """A command with its own output: only warnings of the log are shown, with -v 2 all of it.

    A UserError ends it with the error's message; without database tables it says what to do.
    """

    def execute(self, *args: Any, **options: Any) -> str | None:
        log = logging.getLogger("ingestion")
        level = log.level
        if options["verbosity"] < 2:
            log.setLevel(max(level, logging.WARNING))
        try:
            return super().execute(*args, **options)
        except ProgrammingError as error:
            if getattr(error.__cause__, "sqlstate", "") not in _MISSING:
                raise
            raise CommandError(
                "The database lacks a table or a column of this version. Run `manage.py migrate`, "
                "then this command again."
            ) from error
        except UserError as error:
            raise CommandError(str(error)) from error
        finally:
            log.setLevel(level)


class WaitingCommand(PlainCommand):
    """A command that by default waits until its documents are processed."""

    def add_no_wait(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--no-wait",
            dest="wait",
            action="store_false",
            help="Exit once all files are queued; a running worker must process them.",
        )

    def wait_for(self, version_ids: Iterable[int]) -> int:
        """Wait until these document versions are processed; return how many failed.

        Processes them in this process if no worker answers.
        """
        watch = Watch(ids := list(version_ids))
        if not ids:
            return 0
        if works_here := not worker_answers():
            self.stdout.write("No worker answers, so the files are processed here.")
        with progress_view(self.stdout.write) as show:
            try:
                follow(watch, show, work=works_here)
            except KeyboardInterrupt:
                raise CommandError(
                    "Interrupted. Queued files are processed by the next worker, or by running "
                    "this command again."
                ) from None
        if works_here:
            bm25_weights.fold()
        failures = watch.failures()
        for failure in failures:
            self.stderr.write(
                f"Failed: {failure.document.source or failure.file_name}: {failure.error}"
            )
        return len(failures)


def language_code(value: str) -> str:
    """The ISO 639-1 code of a language tag. Raises ArgumentTypeError."""
    code = primary_code(value)
    if not code:
        raise ArgumentTypeError(f"{value!r} is not a language code. Give two letters, such as en.")
    return code
