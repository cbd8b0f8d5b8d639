"""`manage.py search_sql "QUESTION"`: the SQL that answers a question, and its query plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from search.errors import SearchError
from search.pipeline import Choices, Purpose, search
from search.retrieval.prepared import sent_as_text

# How the statement of `search.retrieval.statement` begins, after its settings.
BEGINNING = "WITH readable(id)"
SHOWN_CHARS = 100

Statement = tuple[str, dict[str, Any]]


class Command(BaseCommand):
    help = (
        "Search, and print the SQL statement that finds and scores the candidates, with its "
        "parameters: two statements if a misspelt question is searched again, corrected."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--user", help="Search as this user (default: an anonymous reader).")
        parser.add_argument(
            "--profile", default="", metavar="NAME[@VERSION]", help="Default: the active profile."
        )
        parser.add_argument(
            "--literal", action="store_true", help="Insert the parameters, to be run in psql."
        )
        parser.add_argument(
            "--explain", action="store_true", help="Also run EXPLAIN (ANALYZE, BUFFERS)."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        viewer = _user(options["user"]) if options["user"] else None
        statements: list[Statement] = []
        try:
            # In a transaction the primary is read, whose connection is listened to.
            with (
                transaction.atomic(),
                sent_as_text(),
                connection.execute_wrapper(_collect_into(statements)),
            ):
                search(
                    options["question"],
                    viewer=viewer,
                    choices=Choices(profile=options["profile"]),
                    purpose=Purpose.TUNER,
                )
        except SearchError as error:
            raise CommandError(str(error)) from error
        if not statements:
            raise CommandError("The question is empty: nothing was searched.")
        for sql, params in statements:
            self.stdout.write(_literal(sql, params) if options["literal"] else sql.strip())
            if not options["literal"]:
                self.stdout.write("\n".join(_lines(params)))
            if options["explain"]:
                self.stdout.write("\n".join(("", *_plan(sql, params))))


def _collect_into(statements: list[Statement]) -> Callable[..., Any]:
    """A wrapper for the connection that collects the statements of questions."""

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.partition(";")[2].lstrip().startswith(BEGINNING):
            statements.append((sql, dict(params)))
        return execute(sql, params, many, context)

    return wrapper


def _lines(params: dict[str, Any]) -> list[str]:
    """The parameters, one a line, as comments of SQL; long values such as embeddings are cut."""
    shown = {name: repr(value) for name, value in sorted(params.items())}
    return [
        f"-- {name} = {text[:SHOWN_CHARS]}{'…' if len(text) > SHOWN_CHARS else ''}"
        for name, text in shown.items()
    ]


def _literal(sql: str, params: dict[str, Any]) -> str:
    """The statement with its parameters inserted, in a transaction that its settings last for."""
    with connection.cursor() as cursor:
        return f"BEGIN;\n{cursor.mogrify(sql, params)};\nCOMMIT;"


def _plan(sql: str, params: dict[str, Any]) -> list[str]:
    """The lines of the query plan, measured while the statement runs once more."""
    settings, _, statement = sql.partition(";")
    with connection.cursor() as cursor:
        cursor.execute(f"{settings};EXPLAIN (ANALYZE, BUFFERS) {statement}", params)
        cursor.nextset()
        return [row[0] for row in cursor.fetchall()]


def _user(name: str) -> Any:
    """The user of that name. Raises CommandError."""
    users = get_user_model()
    try:
        return users.objects.get_by_natural_key(name)
    except users.DoesNotExist:
        raise CommandError(f"There is no user {name!r}.") from None
