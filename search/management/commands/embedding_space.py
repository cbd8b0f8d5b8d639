"""`manage.py embedding_space`: change the embedding model without downtime."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from ingestion.documents.progress import progress_view, worker_answers
from ingestion.management import PlainCommand
from ingestion.models import EmbeddingSpace
from ingestion.spaces import backfill, changes
from ingestion.spaces.report import better_models, overview, report_on
from search.management import progress
from search.tuning.evaluation.measures import LEADING
from search.tuning.evaluation.model_comparison import ModelComparison, compare

POLL_SECONDS = 0.5
# The options of `create` that configure the model; those not given keep its defaults.
MODEL_OPTIONS = {
    "folder": (str, "local: a sentence-transformers ONNX folder; none: MiniLM"),
    "query_folder": (str, "local: another such folder, for the questions alone"),
    "pooling": (str, "local: mean or cls, if the folder's files do not state it"),
    "model": (str, "openai: the provider's name; fastembed: such as BAAI/bge-small-en-v1.5"),
    "base_url": (str, "openai: the URL of a compatible server"),
    "dimensions": (int, "openai: vector size, if the model supports several"),
    "api_key_env": (str, "openai: name of the environment variable that holds the API key"),
    "max_tokens": (int, "the model's context length"),
    "query_prefix": (str, "prefix that the model expects before a query"),
    "document_prefix": (str, "prefix that the model expects before a passage"),
}


class Command(PlainCommand):
    # This command replaces a broken model, so a failing check must not stop it.
    requires_system_checks = ()
    help = (
        "Show the embedding spaces, and change the embedding model without downtime: create a "
        "space for the new model, backfill it while the old one serves searches, activate it, "
        "compare both, and drop the old one once rollback is no longer needed. See "
        "docs/operations.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        create = actions.add_parser("create", help="create an empty space for another model")
        create.add_argument("kind", choices=("local", "fastembed", "openai"))
        create.add_argument("--name", default="", help="display name")
        for option, (kind, words) in MODEL_OPTIONS.items():
            create.add_argument(f"--{option.replace('_', '-')}", type=kind, help=words)
        create.add_argument(
            "--language", dest="languages", action="append", metavar="CODE",
            help="a language that the model supports (ISO 639-1); repeatable; default: many",
        )  # fmt: skip
        fill = actions.add_parser("backfill", help="embed all passages in the background")
        fill.add_argument("--here", action="store_true", help="run here, without a worker")
        pause = actions.add_parser("pause", help="stop the backfill until it is started again")
        activate = actions.add_parser("activate", help="use it for all searches from now on")
        drop = actions.add_parser("drop", help="delete it with all its vectors")
        drop.add_argument("--yes", action="store_true", help="do not ask to confirm")
        for action in (fill, pause, activate, drop):
            action.add_argument("space", help="its ID or name")
        status = actions.add_parser("status", help="show the state of one space or of all")
        status.add_argument("space", nargs="?")
        compare = actions.add_parser("compare", help="which of two filled spaces ranks better here")
        compare.add_argument("space", help="ID or name of one")
        compare.add_argument("other", help="ID or name of the other")
        rollback = actions.add_parser("rollback", help="reactivate the previous space")
        for action in (activate, rollback):
            action.add_argument(
                "--incomplete",
                action="store_true",
                help="even if some passages have no vector yet: then only keywords find them",
            )

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        values = {name: options[name] for name in (*MODEL_OPTIONS, "languages")}
        space = changes.create(options["kind"], values, name=options["name"], acting_user=None)
        self._show(space)
        self.stdout.write(f"\nNext: manage.py embedding_space backfill {space.pk}")

    def _backfill(self, options: dict[str, Any]) -> None:
        space = changes.start(changes.find(options["space"]), acting_user=None)
        if options["here"]:
            self._fill_here(space)
        elif not worker_answers():
            self.stdout.write("No worker answers. Start one, or give --here.")
        else:
            self.stdout.write(f"Queued. To follow it: manage.py embedding_space status {space.pk}")

    def _pause(self, options: dict[str, Any]) -> None:
        self._show(changes.pause(changes.find(options["space"]), acting_user=None))

    def _fill_here(self, space: EmbeddingSpace) -> None:
        with progress_view(self.stdout.write, "passages") as show:
            while True:
                is_full = backfill.advance(space.pk, seconds=POLL_SECONDS)
                space.refresh_from_db()
                show(space.chunks_filled, space.chunks_total, "")
                report = report_on(space, brief=True)
                if is_full and not report.is_worked_on:
                    break
                time.sleep(POLL_SECONDS if report.waits or report.is_worked_on else 0)
        self._show(space)

    def _status(self, options: dict[str, Any]) -> None:
        if options["space"]:
            self._show(changes.find(options["space"]))
            return
        spaces = list(EmbeddingSpace.objects.order_by("pk"))
        self.stdout.write("\n\n".join("\n".join(r.lines) for r in map(report_on, spaces)))
        self.stdout.write("\n".join(("", *overview(spaces), *better_models(spaces))))

    def _compare(self, options: dict[str, Any]) -> None:
        one, other = changes.find(options["space"]), changes.find(options["other"])
        with progress("questions") as update:
            comparison = compare(one, other, progress=update)
        text = "\n".join(_lines(comparison))
        # The page of each space in the admin shows it.
        EmbeddingSpace.objects.filter(pk__in=(one.pk, other.pk)).update(comparison=text)
        self.stdout.write(text)

    def _activate(self, options: dict[str, Any]) -> None:
        space = changes.find(options["space"])
        incomplete = options["incomplete"]
        self._show(changes.activate(space, incomplete=incomplete, acting_user=None))

    def _rollback(self, options: dict[str, Any]) -> None:
        self._show(changes.roll_back(incomplete=options["incomplete"], acting_user=None))

    def _drop(self, options: dict[str, Any]) -> None:
        space = changes.find(options["space"])
        question = f"Delete {space} with all its vectors? [y/N] "
        if options["yes"] or input(question).strip().lower() in ("y", "yes"):
            changes.drop(space, acting_user=None)
            self.stdout.write("The workers delete it; status shows the progress.")

    def _show(self, space: EmbeddingSpace) -> None:
        space.refresh_from_db()
        self.stdout.write("\n".join(report_on(space).lines))


QUESTIONS = {"golden": "golden queries", "made": "made questions"}


def _lines(comparison: ModelComparison) -> Iterator[str]:
    """The comparison as a table for a terminal, and what it comes to."""
    one, other = comparison.one, comparison.other
    yield f"{timezone.now():%Y-%m-%d}{'':<18}{one.space.name:>24.24}{other.space.name:>24.24}"
    verdicts = []
    for kind, count, ours, theirs, change in comparison.rows():
        interval = f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
        name = f"{QUESTIONS[kind]} ({count})"
        yield f"{name:<28}{ours:>24.3f}{theirs:>24.3f}  {interval}"
        better = (other if change.mean > 0 else one).space.name if change.is_clear else "neither"
        verdicts.append(f"on the {QUESTIONS[kind]} {better} is clearly better")
    yield f"{'seconds a thousand passages':<28}{one.seconds:>24.1f}{other.seconds:>24.1f}"
    yield f"{'megabytes with the index':<28}{one.megabytes:>24.1f}{other.megabytes:>24.1f}"
    yield (
        f"\n{LEADING} under the active profile, each model on its own scale: "
        + "; ".join(verdicts)
        + "."
    )
