"""A word of a text is found when it is typed plainly, however it is written (ADR 124)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest
from django.db import connection
from psycopg import Connection, connect

from ingestion.lexical.bigrams import spaced, spaced_sql
from search.domain import Signal
from search.pipeline import Choices, search
from search.presentation.document_text import passages_of
from tests.support.factories import make_collection, make_document
from tests.support.written_chunks import scores, shelve

pytestmark = pytest.mark.django_db

OTHERS = ["a pump", "a valve", "the oil", "grease", "bearings", "a river"]
# What a person types, and the texts in which they must find it.
WRITTEN = [
    ("50", "It costs 50€ a day"),
    ("30", "Warm to 30°C first"),
    ("loctite", "Apply Loctite® now"),
    ("pump", "pump→tank"),
    ("flares", "►Flares"),
    ("CO2", "It emits CO₂ there"),
    ("N2O", "It emits N₂O there"),
    ("blade", "The blade¹ is coated"),
    ("reached", "Limit reached¹², then"),
    ("office", "the o\ufb03ce is open"),
    ("ratio", "the ra\xadtio of both"),
    ("café", unicodedata.normalize("NFD", "the café there")),
    ("Schläuche", unicodedata.normalize("NFD", "Schläuche prüfen")),
    ("ABC", "ＡＢＣ alone"),
]


@pytest.fixture(scope="module", params=["builtin", "libc"])
def located(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: object
) -> Iterator[Connection]:
    """A connection to a database of each kind of locale that the embedded server has.

    Postgres' parser asks the C library what a letter is: under `C.utf8` that knows Unicode, under
    the builtin provider's C every character outside ASCII is one.
    """
    where = connection.settings_dict
    server = {"host": where["HOST"], "port": where["PORT"], "user": where["USER"]}
    name = f"words_{request.param}"
    locale = {
        "builtin": "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'",
        "libc": "LOCALE_PROVIDER libc LOCALE 'C.utf8'",
    }
    with connect(dbname="postgres", autocommit=True, **server) as control:
        control.execute(f"CREATE DATABASE {name} TEMPLATE template0 {locale[request.param]}")
        try:
            with connect(dbname=name, autocommit=True, **server) as own:
                yield own
        finally:
            control.execute(f"DROP DATABASE {name}")


@pytest.mark.parametrize(("typed", "text"), WRITTEN, ids=[typed for typed, _ in WRITTEN])
@pytest.mark.parametrize("config", ["english", "german", "simple"])
def test_under_every_locale(located: Connection, config: str, typed: str, text: str) -> None:
    matches = f"SELECT to_tsvector(%s, {spaced_sql('%s')}) @@ plainto_tsquery(%s, %s)"
    row = located.execute(matches, [config, text, config, spaced(typed)]).fetchone()
    assert row == (True,)


@pytest.mark.parametrize(("typed", "text"), WRITTEN, ids=[typed for typed, _ in WRITTEN])
def test_is_found_and_marked(typed: str, text: str) -> None:
    collection = make_collection(language="en")
    document = make_document(collection, f"# T\n\n{text}.", file_name="a.md")
    make_document(collection, "Nothing of it.", file_name="b.md")
    answer = search(typed, viewer=None, choices=Choices(exact=True))
    assert answer.unknown == ()
    first = answer.results[0]
    assert first.file_name == "a.md"
    assert max(scores(typed, Signal.KEYWORD).values()) > 0
    assert "<mark>" in first.snippet
    [shown] = passages_of(document, viewer=None, requested=None, words=typed).passages
    assert "<mark>" in "".join(str(part.html) for part in shown.parts)


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("blade", "The blade¹ turns", "The [blade]¹ turns"),
        ("CO2", "emits CO₂ and", "emits [CO₂] and"),
        ("office", "the o\ufb03ce.", "the [o\ufb03ce]."),
        ("loctite", "“Loctite®” here", "“[Loctite]®” here"),
        ("30", "up to 30℃ or 40㎡", "up to [30]℃ or 40㎡"),
    ],
)
def test_marks_stand_in_the_text_as_it_is(query: str, text: str, marked: str) -> None:
    shelve(make_collection(), "english", [text, *OTHERS])
    snippet = str(search(query, viewer=None).results[0].snippet)
    assert snippet == marked.replace("[", "<mark>").replace("]", "</mark>")


def test_texts_of_earlier_releases_are_marked_in_their_own_form() -> None:
    text = unicodedata.normalize("NFD", "der ra\xadsche Prüfer kam")
    shelve(make_collection(), "german", [text, *OTHERS])
    snippet = str(search("rasche Prüfer", viewer=None).results[0].snippet)
    assert snippet.replace("<mark>", "").replace("</mark>", "") == text
    assert snippet.count("<mark>") == 2
