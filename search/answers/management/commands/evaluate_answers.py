"""`manage.py evaluate_answers`: how well answers answer the questions of judged collections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from search.answers import answering
from search.answers.domain import Mode
from search.answers.measuring import printing, report
from search.answers.measuring.asking import measure
from search.answers.measuring.questions import foreign_questions, questions_of
from search.tuning.evaluation.collections import find
from search.tuning.management.judged import JudgedCommand, positive, progress, relevance_folder


class Command(JudgedCommand):
    help = (
        "Measure answers on judged collections whose questions have gold answers (metadata.answers "
        "of queries.jsonl; unanswerable.jsonl: questions without an answer). A corpus is loaded "
        "once, like any upload, and stays hidden from readers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        self.add_collections(parser, ".", required=True)
        parser.add_argument(
            "--mode",
            nargs="+",
            action="extend",
            choices=[mode.value for mode in Mode],
            help="Modes to answer in (default: instant). With a model, each question costs calls.",
        )
        parser.add_argument(
            "--foreign",
            nargs="+",
            action="extend",
            default=[],
            metavar="PATH",
            help="Collections whose questions are asked as well, and are to be refused.",
        )
        parser.add_argument(
            "--limit",
            type=positive,
            metavar="N",
            help="Use at most N questions with an answer, N without, and N of each --foreign, "
            "evenly spread.",
        )
        parser.add_argument(
            "--json", type=Path, metavar="FILE", help="Also write the figures to this file."
        )

    def carry_out(self, options: dict[str, Any]) -> None:
        root = relevance_folder()
        modes = tuple(Mode(name) for name in dict.fromkeys(options["mode"] or [Mode.INSTANT]))
        others = [find(name, root) for name in options["foreign"]]
        every = []
        for judged in [find(name, root) for name in options["collection"]]:
            questions = questions_of(judged, options["limit"])
            questions += foreign_questions(others, options["limit"])
            collection = self.load(judged, options)
            with progress(judged.name) as update:
                rows = measure(questions, collection, modes, progress=update)
            outcome = report.Outcome(judged, answering.active_parameters(), modes, tuple(rows))
            found = report.figures(outcome)
            report.record(outcome, found)
            self.stdout.write(printing.as_text(found))
            every.append(found)
        if options["json"]:
            _write(options["json"], {"runs": every})


def _write(file: Path, figures: dict[str, Any]) -> None:
    try:
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"The figures could not be written to {file}: {error.strerror}."
        ) from error
