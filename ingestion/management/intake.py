"""What the commands share that put documents into a collection: where to, and the wait."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from ingestion.documents.progress import ProgressView, Watch, WorkHere, follow, worker_answers
from ingestion.lexical.languages import primary_code
from ingestion.management.plain import PlainCommand
from ingestion.models import Collection, Visibility


class IntakeCommand(PlainCommand):
    """A command whose documents may go into a new collection, and that stays until all are done."""

    def add_collection_arguments(self, parser: CommandParser, *, language: str) -> None:
        """Who may read a new collection; `language` says what the language given is of."""
        parser.add_argument(
            "--visibility",
            choices=Visibility.values,
            help="Who may read a new collection (default: signed_in).",
        )
        parser.add_argument(
            "--group", action="append", default=[], help="With --visibility groups; repeatable."
        )
        parser.add_argument("--language", type=language_code, help=language)

    def add_no_wait(self, parser: CommandParser, *, leave: str) -> None:
        parser.add_argument(
            "--no-wait",
            dest="wait",
            action="store_false",
            help=f"Leave when {leave}; workers must be running.",
        )

    def collection(self, name: str, options: dict[str, Any]) -> Collection:
        """The collection of that name, made as the options say if it is missing."""
        groups = [_group(group) for group in options["group"]]
        visibility = options["visibility"] or (Visibility.GROUPS if groups else "")
        if groups and visibility != Visibility.GROUPS:
            raise CommandError("--group goes with --visibility groups only.")
        defaults = {"visibility": visibility} if visibility else {}
        collection, made = Collection.objects.kept().get_or_create(name=name, defaults=defaults)
        if made:
            collection.groups.set(groups)
        elif visibility and visibility != collection.visibility:
            self.stderr.write(
                f"“{name}” stays visible to: {collection.get_visibility_display()}. Change that "
                "in the admin under Collections."
            )
        return collection

    def wait_for(self, versions: Sequence[int]) -> int:
        """How many of the versions failed; returns when all are finished."""
        if not versions:
            return 0
        watch = Watch(versions)
        with ExitStack() as stack:
            check = lambda: None  # noqa: E731
            if not worker_answers():
                self.stdout.write("No worker answers, so the files are processed here.")
                check = stack.enter_context(WorkHere(versions)).check
            view = stack.enter_context(ProgressView(tqdm.write))
            try:
                follow(watch, view, check)
            except KeyboardInterrupt:
                raise CommandError(
                    "Interrupted. What is queued goes on with the next worker, or with this "
                    "command again."
                ) from None
        failures = watch.failures()
        for failure in failures:
            self.stderr.write(f"Failed: {failure.source or failure.file_name}: {failure.error}")
        return len(failures)


def language_code(value: str) -> str:
    """The two letters of a language. Raises ArgumentTypeError."""
    code = primary_code(value)
    if not code:
        raise ArgumentTypeError(f"{value!r} is no language code: give two letters, such as en.")
    return code


def _group(name: str) -> Group:
    try:
        return Group.objects.get(name=name)
    except Group.DoesNotExist:
        raise CommandError(f"There is no group {name!r}. Make it in the admin first.") from None
