"""A name of code is found by its parts, and by itself before them (ADR 44)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest import approx

from ingestion import services
from ingestion.chunking.options import LAYOUT
from ingestion.lexical.bigrams import spaced
from ingestion.lexical.compounds import name_parts
from ingestion.models import Chunk, DocumentVersion
from search.domain import Signal, TitleScorer
from search.pipeline import Choices, search
from search.retrieval.phrases import contains
from search.signals import keyword
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.laws import examples
from tests.support.written_chunks import ask, keywords_only, lexemes_of, scores, shelve

pytestmark = pytest.mark.django_db

OTHERS = ["a pump", "a valve", "the oil", "grease", "bearings", "a river"]
NAMES = (
    "RenameField", "form.save()", "HTTPServer", "x.y", "McDonald", "a/b.py", "half-life", "the",
    "of-the", "halflife", "D-40", "it's-a", "a/b-c", "北京",
)  # fmt: skip


def shelf(*texts: str) -> list[int]:
    return shelve(make_collection(), "english", [*texts, *OTHERS])


class TestParts:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("RenameField", {"renamefield", "renam", "field"}),
            ("HttpResponseNotAllowed", {"httpresponsenotallow", "http", "respons", "allow"}),
            ("JSONField", {"jsonfield", "json", "field"}),
            ("OAuth2Client", {"oauth2client", "auth2", "client"}),
            ("django.db.models.Model", {"django.db.models.model", "django", "db", "model"}),
            (
                "ForeignKey.on_delete",
                {"foreignkey.on", "foreignkey", "foreign", "key", "delet"},
            ),
            ("models.CharField", {"models.charfield", "model", "charfield", "char", "field"}),
            ("conf/global_settings.py", {"conf/global_settings.py", "conf", "global", "set", "py"}),
            ("SESSION_COOKIE_AGE", {"session", "cooki", "age"}),
            ("--max-old-space", {"max-old-spac", "max", "old", "space", "maxoldspac"}),
            pytest.param("McDonald APIs", {"mcdonald", "api"}, id="no names of code"),
            pytest.param("1.2.3 3.14 e.g.", {"1.2.3", "3.14", "e.g"}, id="numbers, abbreviations"),
            (
                "mail@anExample.org",
                {"mail@anexample.org", "mail", "anexampl", "exampl", "org"},
            ),
            ("http://an.host", {"an.host", "host"}),
            pytest.param("a" * 70 + "Field", {"a" * 70 + "field"}, id="data"),
        ],
    )
    def test_names_are_split_into_these_parts(self, text: str, expected: set[str]) -> None:
        assert set(lexemes_of(text)) == expected

    def test_parts_have_the_position_of_the_name(self) -> None:
        found = lexemes_of("A RenameField, a field, then RenameField")
        assert found["renamefield"] == found["renam"] == [2, 6]
        assert found["field"] == [2, 4, 6]

    def test_a_part_of_an_address_leaves_the_joined_compound_exact(self) -> None:
        found = lexemes_of("A plug-in, see http://an.host/plugin")
        assert len(found["plugin"]) == 2

    @settings(
        suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60)
    )
    @given(
        text=st.lists(
            st.sampled_from(NAMES) | st.text(max_size=8).filter(lambda text: "\0" not in text),
            max_size=20,
        ).map(" ".join),
        config=st.sampled_from(["english", "german", "simple"]),
    )
    def test_parts_leave_positions_of_other_words_unchanged(
        self, text: str, config: str, db: None
    ) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT lexeme, positions FROM unnest(to_tsvector(%s, %s))", [config, spaced(text)]
            )
            plain = dict(cursor.fetchall())
        found = lexemes_of(text, config)
        taken = {place for places in plain.values() for place in places}
        for lexeme, places in found.items():
            own = {place for place in places if place < 9_000}  # joined readings stand behind
            assert set(plain.get(lexeme, ())) <= own <= taken

    def test_python_and_postgres_split_names_alike(self) -> None:
        assert name_parts("aRenameField, on_delete") == ["a", "rename", "field", "on", "delete"]
        assert name_parts("JSONField", whole=True) == ["jsonfield", "json", "field"]


class TestSearch:
    def test_headings_have_parts(self) -> None:
        collection = make_collection(language="en")
        text = "# Operations\n\n## AddField\n\nAdds one.\n\n## RenameField\n\nIt gets a new name."
        make_document(collection, text, file_name="a.md")
        profile = keywords_only(title_scorer=TitleScorer.COVERAGE)
        assert max(scores("rename field", Signal.TITLE, profile=profile).values()) == approx(1)

    def test_a_name_in_a_question_is_found_before_its_parts(self) -> None:
        texts = "a RenameField of the schema", "rename a field", "a field of rye", "valve valve"
        named, said, rye, *_ = shelf(*texts)
        assert next(iter(scores("how to valve RenameField"))) == named
        # Of a name that is known all parts are sought together, of another one any.
        assert list(scores("renameField")) == [named, said]
        assert set(scores("mowField")) == {named, said, rye}
        # Title, confidence and marks know the question's own words alone.
        assert [term.lexeme for term in ask("renameField field").terms] == ["renamefield", "field"]

    def test_common_parts_of_a_known_name_are_sought_together_too(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keyword, "SEED_CHUNKS", 2)
        named, *_ = shelf("a getUserModel of the site", *["the user of a model"] * 4)
        assert list(scores("getUserModel")) == [named]

    def test_parts_of_web_addresses_count_once_however_many_links_a_passage_has(self) -> None:
        links = " ".join(f"https://docs.anhost.org/gaskets/page{number}" for number in range(9))
        linked, linked_once, said, *_ = shelf(
            f"see {links}", "see https://docs.anhost.org/gaskets/page", "see all of the gaskets"
        )
        found = scores("gaskets")
        assert list(found)[:1] == [said]
        assert found[linked] <= found[linked_once] < found[said]

    def test_phrases_do_not_match_parts_of_names(self) -> None:
        named, *_ = shelf("a RenameField of the schema")
        assert not Chunk.objects.filter(contains("rename field"), pk=named).exists()

    def test_older_passages_stay_searchable_and_are_outdated(self) -> None:
        document = make_document(make_collection(language="en"), "a RenameField", file_name="a.txt")
        DocumentVersion.objects.filter(document=document).update(chunk_layout=LAYOUT - 1)
        Chunk.objects.update(lexemes="'renamefield':2")
        assert list(services.outdated()) == [document]
        assert scores("RenameField")


class TestMarks:
    @pytest.mark.parametrize(
        ("query", "text", "expected"),
        [
            ("rename field", "A RenameField is.", "A <mark>RenameField</mark> is."),
            ("http", "HttpResponseNotAllowed, http", "HttpResponseNotAllowed, <mark>http</mark>"),
            ("foreign key on delete", "ForeignKey.on_delete", "<mark>ForeignKey.on_delete</mark>"),
            ("save form", "Call form.save() now", "Call <mark>form.save</mark>() now"),
            ("parts", "See an.org/spare-parts", "See an.org/spare-<mark>parts</mark>"),
            ("C++", "In C++ it is.", "In <mark>C++</mark> it is."),
            ("R&D", "Our R&D, and R.", "Our <mark>R&amp;D</mark>, and <mark>R</mark>."),
        ],
    )
    def test_name_matched_by_a_part_is_marked(self, query: str, text: str, expected: str) -> None:
        make_document(make_collection(language="en"), text, file_name="a.txt")
        [result] = search(query, viewer=None).results
        assert str(result.snippet) == expected


ASKED = {
    "rename field": "RenameField",
    "session cookie age": "SESSION_COOKIE_AGE",
    "http response not allowed": "HttpResponseNotAllowed",
    "foreign key on delete": "ForeignKey.on_delete",
}


@pytest.fixture(scope="module")
def manual(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A document for each name, and one that says all of their words."""
    with lasting(django_db_blocker):
        collection = make_collection("Manual", language="en")
        words = "\n\n".join(f"This {query} is of words: {query}." for query in ASKED)
        make_document(collection, f"# Words\n\n{words}", file_name="words.md")
        for name in ASKED.values():
            make_document(collection, f"# {name}\n\nStands alone.", file_name=f"{hash(name)}.md")
        yield


@pytest.mark.parametrize(("query", "name"), ASKED.items())
def test_words_find_the_name_and_the_whole_name_ranks_first(
    query: str, name: str, manual: None
) -> None:
    choices = Choices(profile="keyword-only")
    found = [each.title for each in search(query, viewer=None, choices=choices).results]
    assert set(found[:2]) == {"Words", name}
    assert search(name, viewer=None, choices=choices).results[0].title == name
