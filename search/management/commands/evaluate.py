"""`manage.py evaluate`: how well profiles rank judged collections."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common import UserError
from ingestion.management import PlainCommand
from search.engine import configuration
from search.management import load, positive, progress, relevance_folder
from search.presentation.labels import measure_label
from search.presets.default import BASELINES, DEFAULT
from search.tuning.evaluation.judged_collections import (
    Corpus,
    DocumentCorpus,
    JudgedCollection,
    find,
    find_all,
)
from search.tuning.evaluation.judged_sections import SectionCollection, resolve, shipped
from search.tuning.evaluation.measures import LEADING, NAMES
from search.tuning.evaluation.profile_runs import MeasuredCollection, evaluate, record
from search.tuning.gate_answers import all_of, ask_here, ask_site, of_report
from search.tuning.gate_file import read_gate
from search.tuning.gate_report import GateReport, report

ALL = "all"
TOKEN = "STEELYARD_TOKEN"  # noqa: S105  the name of a variable
# As for a wrong argument: it is not the site's ranking that failed.
UNUSABLE = 2
SHIPPED = "demo"
ELSEWHERE = (
    "Others are read in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv), from RELEVANCE_DIR "
    "or the path of --collection: for instance Cranfield, MED, NFCorpus, SciFact, SQuAD 2.0 and "
    "XQuAD. Each has a licence of its own, some for research only: read it before you download one."
)


class Command(PlainCommand):
    help = (
        "Measure profiles on judged collections (corpus.jsonl, queries.jsonl, qrels.tsv). A "
        "corpus is loaded once, like any upload, and stays hidden from readers. With --gate: ask "
        "the site's own documents, and exit with 1 if a condition of the file is not met."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--collection",
            nargs="+",
            action="extend",
            metavar="PATH",
            help="A folder, its name under RELEVANCE_DIR, or demo, the one that ships; repeatable "
            "(default: all of RELEVANCE_DIR, or demo if that folder is missing).",
        )
        parser.add_argument(
            "--processes",
            type=positive,
            default=os.cpu_count() or 1,
            help="Processes that load a corpus if no worker runs (default: one per processor).",
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
        _add_gate(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["gate"]:
            self.gate(options)
            return
        if any(options[name] for name in ("against", "junit", "site")):
            raise CommandError("--against, --junit and --site need --gate.", returncode=UNUSABLE)
        self.outcomes: list[MeasuredCollection] = []
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
            self.stdout.write(as_text(evaluation) + "\n")
            self.outcomes += evaluation
        if options["json"]:
            text = json.dumps(as_json(self.outcomes), indent=1)
            options["json"].write_text(text + "\n", encoding="utf-8")

    def gate(self, options: dict[str, Any]) -> None:
        """Print the findings and write the reports; exit with 1 for a refusal, else with 2."""
        try:
            outcome = self.gate_report(options)
        except UserError as error:
            raise CommandError(str(error), returncode=UNUSABLE) from error
        for finding in outcome.decision.findings:
            self.stdout.write(f"{'REFUSED' if finding.refuses else 'ok'}: {finding.text}")
        data = json.dumps(outcome.as_data(), indent=1, ensure_ascii=False) + "\n"
        for path, content in (
            (options["json"], data.encode()), (options["junit"], outcome.as_junit())
        ):  # fmt: skip
            if path:
                path.write_bytes(content)
        if not outcome.decision.passed:
            lost = ", ".join(f"“{text}”" for text in outcome.lost) or "none"
            raise CommandError(f"The gate refuses. Questions lost: {lost}.", returncode=1)
        self.stdout.write(f"The gate passes, on {len(outcome.answers)} questions.")

    def gate_report(self, options: dict[str, Any]) -> GateReport:
        """The report on this site, or on that of --site. Raises UserError."""
        profile, *more = options["profile"] or [""]
        if more or options["collection"] or options["limit"] or profile == ALL:
            raise UserError(
                "--gate measures one profile on the collections of its file, with all its "
                "questions: leave --collection, --limit and further profiles out."
            )
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

    def collections(self, names: list[str] | None) -> list[JudgedCollection]:
        """The named judged collections; else all of RELEVANCE_DIR, or the one that ships."""
        folder = relevance_folder()
        if names:
            return [shipped(name) or find(name, folder) for name in dict.fromkeys(names)]
        own = shipped(SHIPPED)
        if folder.is_dir() or own is None:
            return find_all(folder)
        self.stdout.write(f"{folder} is missing, so the judged collection that ships is used.")
        self.stdout.write(ELSEWHERE)
        return [own]

    def corpus(self, judged: JudgedCollection, options: dict[str, Any]) -> Corpus:
        """The documents of a judged collection, loaded if they are not yet."""
        if not isinstance(judged, SectionCollection):
            loaded = load(judged, write=self.stdout.write, processes=options["processes"])
            return DocumentCorpus.of(judged, loaded)
        sections = resolve(judged, *judged.load(self.stdout.write, options["processes"]))
        if sections.missing:
            self.stdout.write(
                f"{judged.name}: {len(sections.missing)} judged sections are not in the documents, "
                f"which have changed since, and are left out: {', '.join(sections.missing[:5])}"
                + (", ..." if len(sections.missing) > 5 else "")
            )
        return sections


def _add_gate(parser: CommandParser) -> None:
    parser.add_argument(
        "--gate",
        type=Path,
        metavar="FILE",
        help="Golden queries and conditions (YAML, or a folder in BEIR's layout).",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="REPORT",
        help="With --gate: also compare with what --json wrote in an earlier run.",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="With --gate: write XML.")
    parser.add_argument(
        "--site",
        metavar="URL",
        help=f"With --gate: ask the site there by its API, with the token in {TOKEN}, and "
        "neither start nor read a database here.",
    )


def _profiles(names: list[str]) -> Iterator[str]:
    """The given names; `all` is replaced by the version in force of each, the baselines first."""
    for name in names:
        if name != ALL:
            yield name
            continue
        published = {profile for profile, _ in configuration.current().published}
        first = [each.name for each in (DEFAULT, *BASELINES) if each.name in published]
        yield from first
        yield from sorted(published - set(first))


def as_json(outcomes: Sequence[MeasuredCollection]) -> dict[str, Any]:
    """`{"runs": [...]}`, one for each profile on each collection."""
    return {
        "runs": [
            {
                "collection": outcome.judged.name,
                "profile": outcome.profile.name,
                "queries": len(outcome.values),
                "measures": {name: round(value, 4) for name, value in outcome.means.items()},
                "latency_ms": outcome.latency,
            }
            for outcome in outcomes
        ]
    }


def as_text(outcomes: Sequence[MeasuredCollection]) -> str:
    """One collection's outcomes as tables for a terminal: overall, then by query class."""
    first = outcomes[0]
    width = max(len(outcome.profile.name) for outcome in outcomes) + 2
    head = "".join(f"{name:>12}" for name in (*map(measure_label, NAMES), "p50 ms", "p95 ms"))
    lines = [f"{first.judged.name}: {len(first.values)} queries", " " * width + head]
    for outcome in outcomes:
        times = "".join(f"{value:>12.1f}" for value in outcome.latency.values())
        lines.append(f"{outcome.profile.name:<{width}}{_figures(outcome.means)}{times}")
    lines += [
        f"  {outcome.profile.name} against {first.profile.name}: {difference(outcome)}"
        for outcome in outcomes[1:]
    ]
    lines += _class_lines(outcomes, width)
    if first.refused:
        lines.append(f"  {first.refused} queries were refused by search; they count as 0.")
    return "\n".join(lines)


def _class_lines(outcomes: Sequence[MeasuredCollection], width: int) -> list[str]:
    by_class = [(outcome, outcome.by_class()) for outcome in outcomes]
    lines = []
    for query_class, (count, _) in by_class[0][1].items():
        lines.append(f" {query_class}: {count} queries")
        for outcome, classes in by_class:
            means = classes[query_class][1]
            lines.append(f"  {outcome.profile.name:<{width - 2}}{_figures(means)}")
    return lines


def _figures(means: dict[str, float]) -> str:
    return "".join(f"{means[name]:>12.4f}" for name in NAMES)


def difference(outcome: MeasuredCollection) -> str:
    """The change of the leading measure to the first profile, with its interval."""
    interval = outcome.differences[LEADING]
    text = f"{interval.mean:+.4f} ({interval.low:+.4f} to {interval.high:+.4f})"
    return text if interval.is_clear else f"{text}, not clear"
