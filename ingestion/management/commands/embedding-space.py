"""`manage.py embedding-space`: change the embedding model while people search."""

from __future__ import annotations

import time
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from ingestion.documents.progress import worker_answers
from ingestion.errors import IngestionError
from ingestion.models import EmbeddingSpace
from ingestion.spaces import backfill, changes
from ingestion.spaces.report import Report, overview, report_on

LOOK_SECONDS = 0.5
# The options of `create` that belong to the model; empty ones are left to it.
MODEL_OPTIONS = {
    "folder": (str, "local: a sentence-transformers ONNX folder; none: the packaged model"),
    "pooling": (str, "local: mean or cls, where the folder's files do not say"),
    "model": (str, "openai: the model's name, as the provider writes it"),
    "base_url": (str, "openai: the address of another server that speaks the protocol"),
    "dimensions": (int, "openai: how many to ask for, where the model offers a choice"),
    "api_key_env": (str, "openai: the environment variable that holds this provider's key"),
    "batch_size": (int, "texts in a request, or in a run of a local model"),
    "max_tokens": (int, "the longest text that the model reads"),
    "query_prefix": (str, "what the model wants in front of a question"),
    "document_prefix": (str, "what the model wants in front of a passage"),
}


class Command(BaseCommand):
    # A model that is out of order is left by this command: what else is wrong must not stop it.
    requires_system_checks = ()
    help = (
        "Shows the embedding spaces and changes the one that answers, without a pause: create a "
        "space for the new model, backfill it while the old one answers, activate it, and drop "
        "the old one when nobody wants to go back. See docs/operations.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        create = actions.add_parser("create", help="a space for another model, with nothing in it")
        create.add_argument("kind", choices=("local", "openai"))
        create.add_argument("--name", default="", help="what people call it")
        for option, (kind, words) in MODEL_OPTIONS.items():
            create.add_argument(f"--{option.replace('_', '-')}", type=kind, help=words)
        create.add_argument(
            "--language", dest="languages", action="append", metavar="CODE",
            help="a language that the model knows (ISO 639-1); repeatable; none: many",
        )  # fmt: skip
        _add_limits(create)
        limits = actions.add_parser("configure", help="change the limits, the price or the name")
        limits.add_argument("space")
        limits.add_argument("--name", default="")
        _add_limits(limits)
        for name, words in (
            ("backfill", "have it filled in the background; start again after a pause or a fault"),
            ("pause", "fill it no further"),
            ("index", "build its index, where a build has failed"),
            ("activate", "let it answer from now on"),
            ("drop", "remove it with all its vectors"),
        ):
            action = actions.add_parser(name, help=words)
            action.add_argument("space", help="its number, name or fingerprint")
            if name == "backfill":
                action.add_argument(
                    "--here", action="store_true", help="in this process; no worker is needed"
                )
                action.add_argument(
                    "--follow", action="store_true", help="stay and show the progress"
                )
            if name == "activate":
                _add_incomplete(action)
            if name in ("backfill", "drop"):
                action.add_argument("--yes", action="store_true", help="do not ask")
        status = actions.add_parser("status", help="how each of them stands")
        status.add_argument("space", nargs="?")
        _add_incomplete(actions.add_parser("rollback", help="go back to the previous one"))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['action']}")(options)
        except IngestionError as error:
            raise CommandError(str(error)) from error

    def _create(self, options: dict[str, Any]) -> None:
        given = {name: options[name] for name in (*MODEL_OPTIONS, "languages")}
        space = changes.create(
            options["kind"], given, name=options["name"], limits=_limits(options), acting_user=None
        )
        self._show(space)
        self.stdout.write(f"\nNext: manage.py embedding-space backfill {space.pk}")

    def _configure(self, options: dict[str, Any]) -> None:
        space = changes.find(options["space"])
        limits = _limits(options)
        self._show(changes.configure(space, limits, name=options["name"], acting_user=None))

    def _backfill(self, options: dict[str, Any]) -> None:
        space = changes.find(options["space"])
        report = report_on(space)
        self.stdout.write(f"{report.missing:,} passages to embed{report.cost_words}.")
        if not options["yes"] and report.cost and not self._agreed("Start?"):
            return
        space = changes.start(space, acting_user=None)
        if options["here"]:
            self._fill_here(space)
        elif options["follow"]:
            self._follow(space)
        elif not worker_answers():
            self.stdout.write("No worker answers: start one, or give --here.")
        else:
            self.stdout.write(f"The workers are at it: manage.py embedding-space status {space.pk}")

    def _pause(self, options: dict[str, Any]) -> None:
        self._show(changes.pause(changes.find(options["space"]), acting_user=None))

    def _index(self, options: dict[str, Any]) -> None:
        space = changes.find(options["space"])
        if not backfill.make_index(space):
            raise CommandError("A worker is at it just now: see status.")
        self._show(space)

    def _status(self, options: dict[str, Any]) -> None:
        if options["space"]:
            self._show(changes.find(options["space"]))
            return
        spaces = list(EmbeddingSpace.objects.order_by("pk"))
        self.stdout.write("\n\n".join("\n".join(r.lines) for r in map(report_on, spaces)))
        self.stdout.write("\n".join(("", *overview(spaces))))

    def _activate(self, options: dict[str, Any]) -> None:
        space = changes.activate(
            changes.find(options["space"]),
            incomplete=options["incomplete"],
            acting_user=None,
        )
        self._show(space)

    def _rollback(self, options: dict[str, Any]) -> None:
        self._show(changes.roll_back(incomplete=options["incomplete"], acting_user=None))

    def _drop(self, options: dict[str, Any]) -> None:
        space = changes.find(options["space"])
        if not options["yes"] and not self._agreed(f"Remove {space} with all its vectors?"):
            return
        changes.drop(space, acting_user=None)
        self.stdout.write("The workers remove it; status shows how far they are.")

    def _fill_here(self, space: EmbeddingSpace) -> None:
        with _Bar(space) as bar:
            while True:
                done = backfill.advance(space.pk, seconds=LOOK_SECONDS)
                report = bar.look()
                if done and not report.is_worked_on:
                    break
                time.sleep(LOOK_SECONDS if report.waits or report.is_worked_on else 0)
        self._show(space)

    def _follow(self, space: EmbeddingSpace) -> None:
        with _Bar(space) as bar:
            while not (report := bar.look()).is_settled:
                time.sleep(LOOK_SECONDS)
        self.stdout.write("\n".join(report.lines))

    def _show(self, space: EmbeddingSpace) -> None:
        space.refresh_from_db()
        self.stdout.write("\n".join(report_on(space).lines))

    def _agreed(self, question: str) -> bool:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


class _Bar:
    """A bar on a terminal, which follows the space's row."""

    def __init__(self, space: EmbeddingSpace) -> None:
        self._space = space
        self._bar = tqdm(unit=" passages", leave=False, disable=None, dynamic_ncols=True)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def look(self) -> Report:
        """How the space stands now, drawn."""
        self._space.refresh_from_db()
        self._bar.total = self._space.chunks_total
        self._bar.n = self._space.chunks_filled
        self._bar.refresh()
        return report_on(self._space, brief=True)


def _add_limits(parser: Any) -> None:
    parser.add_argument(
        "--requests-per-minute", type=int, metavar="N", help="what the provider allows; 0: no limit"
    )
    parser.add_argument(
        "--tokens-per-minute", type=int, metavar="N", help="what the provider allows; 0: no limit"
    )
    parser.add_argument(
        "--price", type=_price, metavar="P", help="of a million tokens, for the estimate"
    )


def _add_incomplete(parser: Any) -> None:
    parser.add_argument(
        "--incomplete",
        action="store_true",
        help="although passages lack a vector: they are found by their words until it is there",
    )


def _limits(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in changes.LIMITS if options[name] is not None}


def _price(value: str) -> Decimal:
    try:
        price = Decimal(value)
    except InvalidOperation as error:
        raise ValueError from error
    if not price.is_finite() or price < 0:
        raise ValueError
    return price
