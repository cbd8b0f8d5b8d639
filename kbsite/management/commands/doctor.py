"""`manage.py doctor`: print the problems of this installation and their remedies."""

from __future__ import annotations

import logging
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from common.probes import Finding, State, examine
from ingestion.models.statistics import recount

_COLOURS = {State.OK: "SUCCESS", State.LOOK: "WARNING", State.WRONG: "ERROR"}
_WIDTH = max(map(len, State))


class Command(BaseCommand):
    help = (
        "Examine the settings, servers, workers, models and the library: each line says ok, or "
        "what is wrong and what to do. The exit code is 1 if something is wrong."
    )
    requires_system_checks = []  # it runs the checks itself, and continues after failures
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--recount",
            action="store_true",
            help="Count the statistics behind keyword scores anew first, which takes minutes for "
            "millions of passages. Searches and uploads go on.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # The findings say the same as the warnings, which would repeat it.
        logging.disable(logging.WARNING)
        try:
            if options["recount"]:
                recount()
            states = [self._write(each) for each in examine()]
        finally:
            logging.disable(logging.NOTSET)
        if State.WRONG in states:
            sys.exit(1)

    def _write(self, finding: Finding) -> State:
        """Write the finding at once; return its state."""
        style = getattr(self.style, _COLOURS[finding.state])
        self.stdout.write(f"{style(f'{finding.state:<{_WIDTH}}')}  {_line(finding)}")
        self.stdout.flush()
        return finding.state


def _line(finding: Finding) -> str:
    advice = f" {finding.advice}" if finding.advice else ""
    end = "" if not advice or finding.text.endswith((".", "!", "?")) else "."
    return f"{finding.name}: {finding.text}{end}{advice}"
