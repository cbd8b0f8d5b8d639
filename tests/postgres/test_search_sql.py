"""`manage.py search_sql`: the statement of a question, its parameters and its plan."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("search_sql", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def _beam() -> None:
    make_document(make_collection(visibility="public"), "# Beam\n\nThe long arm of a steelyard.")


@pytest.mark.usefixtures("_beam")
def test_the_statement_its_parameters_and_its_plan() -> None:
    text = printed("long arm", "--explain")
    assert text.count("WITH readable(id)") == 1
    assert "-- budget = " in text
    assert "Execution Time: " in text
    assert max(map(len, (line for line in text.splitlines() if line.startswith("-- ")))) < 150


@pytest.mark.usefixtures("_beam")
def test_the_literal_statement_finds_the_passage() -> None:
    statement = printed("long arm", "--literal")
    with connection.cursor() as cursor:
        cursor.execute(statement.removeprefix("BEGIN;").strip().removesuffix("COMMIT;"))
        cursor.nextset()
        rows = cursor.fetchall()
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((" ",), "The question is empty"),
        (("beam", "--user", "nobody"), "no user 'nobody'"),
        (("beam", "--profile", "nothing"), "nothing"),
    ],
)
def test_wrong_arguments_are_a_message(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        printed(*arguments)
