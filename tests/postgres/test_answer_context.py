"""The context of an answer, read from the database as its asker."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from common.accounts.models import User
from ingestion import services
from ingestion.models import Chunk
from ingestion.services import Wish
from search.answers.domain import AnswerParameters, Context
from search.answers.making.searching import context_of_all
from search.answers.making.writing import extracted
from search.domain import Hit
from search.pipeline import search
from tests.support.factories import make_document
from tests.support.library import lasting_library
from tests.support.repeating_library import lasting_repeats

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="class")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_library(django_db_blocker) as filled:
        yield filled


@pytest.fixture(scope="class")
def repeats(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_repeats(django_db_blocker) as filled:
        yield filled


def hits_of(question: str, viewer: Any = None) -> tuple[Hit, ...]:
    return search(question, viewer=viewer).hits


def context(question: str, viewer: Any = None, **parameters: Any) -> Context:
    return context_of_all(
        [hits_of(question, viewer)], viewer=viewer, parameters=AnswerParameters(**parameters)
    )


def ids(found: Context) -> set[int]:
    return {chunk for passage in found.passages for chunk in passage.chunk_ids}


class TestLibrary:
    def test_passage_has_its_title_headings_and_page(self, library: SimpleNamespace) -> None:
        """S5-15: what the prompt and a citation need."""
        hits = hits_of("connection timeout")
        found = context_of_all([hits], viewer=None, parameters=AnswerParameters())

        best = next(passage for passage in found.passages if passage.rank == 1)
        chunk = Chunk.objects.get(pk=hits[0].chunk_id)
        assert hits[0].chunk_id in best.chunk_ids
        assert best.score == pytest.approx(hits[0].score)
        assert (best.version, best.document) == (chunk.version_id, chunk.document_id)
        assert best.document_id == str(library.connections.public_id)
        assert best.title == library.connections.title
        assert best.heading_path == tuple(chunk.heading_path)
        assert best.collection == "Handbook"
        assert found.tokens <= found.budget == 5000

    def test_quotes_take_no_query(
        self, library: SimpleNamespace, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        """The search has read the configuration."""
        response = search("what happened on day 40", viewer=None)
        found = context_of_all([response.hits], viewer=None, parameters=AnswerParameters())
        with django_assert_num_queries(0):
            assert extracted(response, found, AnswerParameters()).quotes

    def test_context_takes_one_query_and_two_with_expansion(
        self, library: SimpleNamespace, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        hits = hits_of("what happened on day 40")
        with django_assert_num_queries(1):
            context_of_all([hits], viewer=None, parameters=AnswerParameters(expand=False))
        with django_assert_num_queries(2):
            context_of_all([hits], viewer=None, parameters=AnswerParameters())
        with django_assert_num_queries(2):
            context_of_all([hits, hits[3:]], viewer=None, parameters=AnswerParameters())
        with django_assert_num_queries(0):
            assert context_of_all([], viewer=None, parameters=AnswerParameters()) == Context(
                budget=5000
            )

    def test_context_has_no_passage_the_viewer_may_not_read(
        self, library: SimpleNamespace, member: User
    ) -> None:
        """S5-25: even for hits of somebody else's search."""
        hits = hits_of("zanzibar harbour lighthouse", member)
        chunks = set(library.secret.chunks.values_list("pk", flat=True))

        assert ids(context_of_all([hits], viewer=member, parameters=AnswerParameters())) & chunks
        assert not ids(context_of_all([hits], viewer=None, parameters=AnswerParameters())) & chunks

    def test_context_uses_the_first_candidates_only(self, library: SimpleNamespace) -> None:
        """S5-11."""
        hits = hits_of("watch changed at noon")
        first = {hit.chunk_id for hit in hits[:3]}
        assert ids(context("watch changed at noon", candidates=3, expand=False)) == first


class TestRepeats:
    def test_context_has_each_copy_once(self, repeats: SimpleNamespace) -> None:
        """S5-12."""
        found = context("handover of a shift", expand=False)

        editions = [p for p in found.passages if "begins a quarter of an hour" in p.text]
        assert len(editions) == 1

    def test_a_disabled_chunk_is_neither_joined_nor_a_neighbour(
        self, repeats: SimpleNamespace
    ) -> None:
        """S5-13, S5-25: the chunks on both sides of it stay apart."""
        text = "\n\n".join(
            f"Of the {name} bell this is said: {f'the {name} bell rings at the turn. ' * 20}"
            for name in ("first", "second", "third", "fourth")
        )
        bells = make_document(repeats.manual.collection, text, file_name="bells.txt")
        rings = "first bell rings at the turn, third bell rings at the turn"
        parameters = AnswerParameters(min_passages=1, context_tokens=1500)
        hits = [hit for hit in hits_of(rings) if hit.document_id == bells.pk]
        before = context_of_all([hits[:1]], viewer=None, parameters=parameters)
        assert "second bell" in before.passages[0].text

        second = bells.chunks.filter(text__contains="second bell")
        chunks = set(second.values_list("pk", flat=True))
        for chunk in second:
            services.edit_chunk(chunk, Wish(disabled=True), acting_user=None)
        after = context_of_all([hits], viewer=None, parameters=parameters)
        assert len(after.passages) == 2
        assert not ids(after) & chunks
        assert all("second bell" not in passage.text for passage in after.passages)
