"""A compound is found by both of its readings, half-life and halflife (ADR 44)."""

from __future__ import annotations

import math

import pytest
from django.db import connection
from pytest import approx

from ingestion.lexical import bm25_weights
from ingestion.lexical.bigrams import spaced
from ingestion.lexical.compounds import joined_sql
from ingestion.models import Chunk
from search.pipeline import search
from search.presentation.document_text import marked_text
from search.presentation.snippets import highlight
from search.retrieval.phrases import contains, lacks_exactly
from tests.support.factories import make_collection, make_document
from tests.support.written_chunks import ask, idfs, lexemes_of, scores, shelve

pytestmark = pytest.mark.django_db

HYPHENATED = "the half-life of a drug"
JOINED = "the halflife of a drug"
PARTED = "half of my life"
OTHERS = ["a pump", "a valve", "the oil", "grease", "bearings", "a river"]


def shelf(*texts: str, config: str = "english") -> list[int]:
    return shelve(make_collection(), config, [*texts, *OTHERS])


def idf(chunks: int, frequency: int) -> float:
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))


def joined(text: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT joined FROM {joined_sql('%s')} parted ORDER BY nth", [spaced(text)])
        return [row[0] for row in cursor.fetchall()]


def as_before(pk: int) -> None:
    """Make the chunk like one read before there were joined readings: of the compound alone."""
    version = Chunk.objects.get(pk=pk).version_id
    bm25_weights.count_out(version, chunk_id=pk)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingestion_chunk SET lexemes = to_tsvector('english', text) WHERE id = %s", [pk]
        )
    bm25_weights.count_in(version, chunk_id=pk)


class TestCompounds:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("the half-life of x-rays", ["halflife", "xrays"]),
            ("Jean-Luc", ["JeanLuc"]),
            ("half\u2010life and half\u2011life", ["halflife", "halflife"]),
            ("state-of-the-art", ["stateoftheart"]),
            ("the l-leucine, a half-life.", ["lleucine", "halflife"]),
            ("Müller-Straße, кто-нибудь, être-là", ["MüllerStraße", "ктонибудь", "êtrelà"]),
            pytest.param("1990-1995 and -5", [], id="ranges and numbers"),
            pytest.param("INC-2024-0042 D-40 S2-03 COVID-19 x86-64", [], id="identifiers"),
            pytest.param("pre- and postwar -well - a", [], id="no compound"),
            pytest.param("a-b-c-d-e", [], id="a longer chain"),
            pytest.param("a-" * 2_000 + "b", [], id="a chain of thousands"),
            pytest.param(f"{'a' * 40}-{'b' * 40}", [], id="data"),
            pytest.param("http://a-b.org/c-d x-y@z-u.org /etc/b-c", [], id="addresses"),
            pytest.param("北京-大学 รถ-ไฟ 東京-タワー", [], id="letters without spaces"),
        ],
    )
    def test_compounds_have_a_joined_reading(self, text: str, expected: list[str]) -> None:
        assert joined(text) == expected

    def test_joined_lexemes_have_positions_after_the_text(self) -> None:
        found = lexemes_of("A half-life, two half-lives, and a halflife")
        assert found["halflif"] == [11, 16_383]
        assert found["halfliv"] == [16_383]
        plain = lexemes_of("A half life")
        assert plain == {"half": [2], "life": [3]}


class TestSearch:
    @pytest.mark.parametrize("query", ["half-life", "halflife", "Half\u2010Life", "HALFLIFE"])
    def test_either_spelling_finds_both(self, query: str) -> None:
        hyphenated, written, *_ = shelf(HYPHENATED, JOINED)
        assert set(scores(query)) == {hyphenated, written}

    def test_a_joined_word_weighs_the_same_in_either_spelling(self) -> None:
        hyphenated, written, *_ = shelf(HYPHENATED, JOINED)
        assert idfs("halflife") == {"halflif": approx(idf(8, 2))}
        norm = {c.pk: 1.2 * (0.25 + 0.75 * c.length / 12) for c in Chunk.objects.all()}
        assert scores("halflife") == {
            pk: approx(idf(8, 2) * 2.2 / (1 + norm[pk]), rel=1e-4) for pk in (hyphenated, written)
        }

    def test_a_compound_counts_once(self) -> None:
        """The joined reading stands for the compound, and the parts count as before."""
        shelf(HYPHENATED, JOINED, PARTED)
        assert idfs("half-life") == {
            "halflif": approx(idf(9, 2)),
            "half": approx(idf(9, 2)),
            "life": approx(idf(9, 2)),
        }
        found = ask("half-life")
        assert found.left_out == 0

    def test_joined_readings_do_not_lengthen_a_text(self) -> None:
        hyphenated, *_ = shelf(HYPHENATED)
        assert Chunk.objects.get(pk=hyphenated).length == 4  # half-life, half, life, drug

    def test_old_chunks_are_still_found_before_reprocessing(self) -> None:
        hyphenated, written, *_ = shelf(HYPHENATED, JOINED, HYPHENATED)
        as_before(hyphenated)
        # One chunk holds the compound alone, one the joined word alone, one both.
        assert idfs("half-life")["halflif"] == approx(idf(9, 2))
        found = scores("half-life")
        assert {hyphenated, written} <= set(found)
        assert hyphenated not in scores("halflife")

    def test_readings_share_one_idf_during_reprocessing(self) -> None:
        first, second, third, *_ = shelf(HYPHENATED, HYPHENATED, HYPHENATED)
        as_before(first)
        as_before(second)
        found = idfs("half-life")
        assert found["half-lif"] == found["halflif"] == approx(idf(9, 4))
        assert set(scores("half-life")) == {first, second, third}

    def test_compounds_are_read_in_all_configurations(self) -> None:
        collection = make_collection()
        english = shelve(collection, "english", [HYPHENATED, *OTHERS])[0]
        simple = shelve(collection, "simple", ["halflife", "half-life"])
        assert set(scores("halflife")) == {english, *simple}
        assert {english, *simple} <= set(scores("half-life"))
        # "halflif" is the lexeme of most chunks, hence counted by itself.
        assert idfs("halflife")["halflif"] == approx(idf(7, 1))


class TestPhrases:
    @pytest.mark.parametrize(
        ("phrase", "holds"),
        [
            ("half-life of a drug", True),
            ("half life of a drug", True),
            ("half-life", True),
            ("halflife", False),
            ("drug halflife", False),
            ("halflife xray", False),
            ("xray halflife", False),
            ("halflife drug", False),
        ],
    )
    def test_phrases_do_not_match_joined_lexemes(self, phrase: str, holds: bool) -> None:
        held, *_ = shelf(f"{HYPHENATED} x-ray tube drug")
        chunks = Chunk.objects.filter(pk=held)
        assert chunks.filter(contains(phrase)).exists() is holds
        assert chunks.filter(lacks_exactly(phrase)).exists() is not holds


class TestMarks:
    @pytest.mark.parametrize(
        ("query", "text", "expected"),
        [
            ("halflife", "A half-life is half of it.", "A <mark>half-life</mark> is half of it."),
            ("halflife", "The half\u2010life", "The <mark>half\u2010life</mark>"),
            ("half-life", "Its halflife.", "Its <mark>halflife</mark>."),
            ("xray half", "Half-hourly x-ray", "<mark>Half</mark>-hourly <mark>x-ray</mark>"),
            ("halflife half", "a half-life", "a <mark>half-life</mark>"),
            ("life", "a half-life", "a half-<mark>life</mark>"),
            ("北京 halflife", "北京 half-life", "<mark>北京</mark> <mark>half-life</mark>"),
        ],
    )
    def test_hit_by_the_joined_reading_is_marked(
        self, query: str, text: str, expected: str
    ) -> None:
        make_document(make_collection(language="en"), text, file_name="a.txt")
        [result] = search(query, viewer=None).results
        assert str(result.snippet) == expected
        read = Chunk.objects.annotate(read=marked_text(query)).get().read
        assert str(highlight(read)) == expected
