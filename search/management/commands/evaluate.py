"""`manage.py evaluate --gate FILE`: golden queries in a file, and what the site must reach."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common import UserError
from ingestion.management import PlainCommand
from search.management import progress
from search.tuning.gate_answers import all_of, ask_here, ask_site, of_report
from search.tuning.gate_file import read_gate
from search.tuning.gate_report import GateReport, report

TOKEN = "STEELYARD_TOKEN"  # noqa: S105  the name of a variable
# As for a wrong argument: it is not the site's ranking that failed.
UNUSABLE = 2


class Command(PlainCommand):
    help = (
        "Ask the site's own documents the golden queries of a file, and exit with 1 if one of its "
        "conditions is not met."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--gate",
            type=Path,
            metavar="FILE",
            required=True,
            help="Golden queries and conditions (YAML, or a folder in BEIR's layout).",
        )
        parser.add_argument(
            "--profile",
            default="",
            metavar="NAME",
            help="NAME or NAME@VERSION of a published profile (default: the active one).",
        )
        parser.add_argument(
            "--json", type=Path, metavar="FILE", help="Also write the figures to this file."
        )
        parser.add_argument(
            "--against",
            type=Path,
            metavar="REPORT",
            help="Also compare with what --json wrote in an earlier run.",
        )
        parser.add_argument(
            "--site",
            metavar="URL",
            help=f"Ask the site there by its API, with the token in {TOKEN}, and neither start nor "
            "read a database here.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the findings and write the report; exit with 1 for a refusal, else with 2."""
        try:
            outcome = self.gate_report(options)
        except UserError as error:
            raise CommandError(str(error), returncode=UNUSABLE) from error
        for finding in outcome.decision.findings:
            self.stdout.write(f"{'REFUSED' if finding.refuses else 'ok'}: {finding.text}")
        if options["json"]:
            data = json.dumps(outcome.as_data(), indent=1, ensure_ascii=False)
            options["json"].write_text(f"{data}\n", encoding="utf-8")
        if not outcome.decision.passed:
            lost = ", ".join(f"“{text}”" for text in outcome.lost) or "none"
            raise CommandError(f"The gate refuses. Questions lost: {lost}.", returncode=1)
        self.stdout.write(f"The gate passes, on {len(outcome.answers)} questions.")

    def gate_report(self, options: dict[str, Any]) -> GateReport:
        """The report on this site, or on that of --site. Raises UserError."""
        profile = options["profile"]
        file = read_gate(options["gate"])
        before = of_report(options["against"]) if options["against"] else None
        with ExitStack() as stack:
            if options["site"]:
                token = os.environ.get(TOKEN, "")
                ask = stack.enter_context(ask_site(file, profile, options["site"], token))
            else:
                ask = ask_here(file, profile)
            update = stack.enter_context(progress(file.name))
            return report(file, all_of(file.questions, ask, update), before)
