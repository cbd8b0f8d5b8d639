"""`manage.py evaluate`: how well profiles rank judged collections."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from search.engine import configuration
from search.presets import BASELINES, DEFAULT
from search.tuning.evaluation import report
from search.tuning.evaluation.runner import MeasuredCollection, evaluate, record
from search.tuning.management.judged import JudgedCommand, positive, progress

ALL = "all"


class Command(JudgedCommand):
    help = (
        "Measure profiles on judged collections (corpus.jsonl, queries.jsonl, qrels.tsv). A "
        "corpus is loaded once, like any upload, and stays hidden from readers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        self.add_collections(
            parser, " (default: all of RELEVANCE_DIR, or demo if that folder is missing)."
        )
        parser.add_argument(
            "--profile",
            nargs="+",
            action="extend",
            metavar="NAME",
            help="NAME or NAME@VERSION; repeatable; `all` for every published profile. The first "
            "is the baseline of the others (default: the active profile).",
        )
        parser.add_argument(
            "--limit", type=positive, metavar="N", help="Use at most N queries, evenly spread."
        )
        parser.add_argument(
            "--json", type=Path, metavar="FILE", help="Also write the figures to this file."
        )
        parser.add_argument(
            "--tables",
            type=Path,
            metavar="FILE",
            help="Also update the tables of this Markdown file.",
        )
        parser.add_argument(
            "--questions",
            nargs="*",
            metavar="ID",
            help="Also print a table of these queries (default: all) under the first profile: the "
            "first result, its grade, and the rank of the right document.",
        )
        parser.add_argument(
            "--check",
            type=Path,
            metavar="FILE",
            help="Measure nothing: fail if the tables of this file are older than one release and "
            "the ranking code has changed since.",
        )

    def carry_out(self, options: dict[str, Any]) -> None:
        if options["check"]:
            if problem := report.outdated(options["check"]):
                raise CommandError(problem)
            return
        outcomes = self._outcomes(options)
        if options["tables"]:
            report.rewrite(options["tables"], outcomes)
        if options["json"]:
            text = json.dumps(report.as_json(outcomes), indent=1)
            options["json"].write_text(text + "\n", encoding="utf-8")

    def _outcomes(self, options: dict[str, Any]) -> list[MeasuredCollection]:
        outcomes = []
        # The same profile twice would only measure noise.
        profiles = list(dict.fromkeys(_profiles(options["profile"] or [""])))
        for judged in self.collections(options["collection"]):
            corpus = self.corpus(judged, options)
            with progress(judged.name) as update:
                evaluation = evaluate(
                    judged, corpus, profiles, limit=options["limit"], progress=update
                )
            for outcome in evaluation:
                record(outcome)
            self.stdout.write(report.as_text(evaluation) + "\n")
            if options["questions"] is not None:
                self.stdout.write(report.by_question(evaluation[0], options["questions"]) + "\n")
            outcomes += evaluation
        return outcomes


def _profiles(names: list[str]) -> Iterator[str]:
    """The names as given; `all` stands for the version in force of each, the baselines first."""
    for name in names:
        if name != ALL:
            yield name
            continue
        published = {profile for profile, _ in configuration.current().published}
        first = [each.name for each in (DEFAULT, *BASELINES) if each.name in published]
        yield from first
        yield from sorted(published - set(first))
