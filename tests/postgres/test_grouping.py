"""Signatures in the database, and a ranking grouped by document from the statement to the page."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from common.accounts.models import User
from ingestion.lexical.near_duplicates import signature
from ingestion.models import Chunk, Document
from search.pipeline import SearchResponse, search
from search.presentation.results import results_for
from search.retrieval import Filters
from tests.support.factories import make_collection, make_document
from tests.support.repeating_library import edition, lasting_repeats

pytestmark = pytest.mark.django_db

QUESTION = "handover of a shift"


@pytest.fixture(scope="module")
def repeats(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_repeats(django_db_blocker) as filled:
        yield filled


def titles(response: SearchResponse) -> list[str]:
    return [result.title for result in response.results]


def test_every_chunk_that_is_long_enough_has_its_signature(repeats: SimpleNamespace) -> None:
    chunks = list(Chunk.objects.all())

    assert {chunk.signature for chunk in chunks} != {None}
    assert all(chunk.signature == signature(chunk.text) for chunk in chunks)
    short = repeats.other.chunks.get()
    assert short.signature is None


def test_document_and_its_copies_share_one_result(repeats: SimpleNamespace) -> None:
    response = search(QUESTION, viewer=None)

    assert titles(response) == ["Old handover", "Shift manual", "Canteen"]
    editions, manual, _ = response.results
    assert {copy.title for copy in editions.copies} == {"Rules of the founder", "Shift manual"}
    assert (editions.folded, editions.folded_count) == ((), 2)
    # Its first passage stands with the editions, so that another one speaks for the rest.
    assert [passage.chunk for passage in (manual, *manual.folded)] == [
        ordinal
        for hit in response.hits
        for ordinal in repeats.manual.chunks.filter(
            pk=hit.candidate.chunk_id, ordinal__gt=0
        ).values_list("ordinal", flat=True)
    ][:4]
    assert manual.folded_count == repeats.manual.chunks.count() - 2
    assert manual.copies == ()


def test_grouping_keeps_all_hits_and_their_order(repeats: SimpleNamespace) -> None:
    together, apart = (search(QUESTION, viewer=None, group=group) for group in (True, False))

    assert together.hits == apart.hits
    parts = [hit for group in together.groups for hit in (group.best, *group.folded, *group.copies)]
    assert sorted(hit.rank for hit in parts) == [hit.rank for hit in together.hits]
    assert (together.grouped, together.total) == (True, len(together.groups))
    assert (apart.grouped, apart.total) == (False, len(apart.hits))
    assert [result.hit for result in apart.results] == list(apart.hits)
    assert all(result.folded_count == 0 for result in apart.results)


@pytest.mark.parametrize("group", [True, False], ids=["grouped", "every passage"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_order_does_not_depend_on_the_page(
    repeats: SimpleNamespace, size: int, group: bool
) -> None:
    whole = search(QUESTION, viewer=None, group=group, page_size=50)
    pages = [
        search(QUESTION, viewer=None, group=group, page=page, page_size=size)
        for page in range(1, -(-whole.total // size) + 1)
    ]

    assert [result for page in pages for result in page.results] == list(whole.results)
    assert {page.pages for page in pages} == {len(pages)}
    assert [page.first for page in pages] == [1 + size * n for n in range(len(pages))]


def test_unreadable_document_is_in_no_group(
    repeats: SimpleNamespace, reader: User, member: User
) -> None:
    closed = repeats.hidden.pk
    for viewer in (None, reader):
        response = search(QUESTION, viewer=viewer)
        documents = {hit.candidate.document_id for hit in response.hits}
        shown = [
            passage.title
            for result in response.results
            for passage in (result, *result.folded, *result.copies)
        ]
        assert closed not in documents
        assert "Zanzibar handover" not in shown
        assert search(QUESTION, viewer=viewer, filters=_only(repeats.hidden)).total == 0

    editions = search(QUESTION, viewer=member).results[0]
    assert "Zanzibar handover" in {editions.title, *(copy.title for copy in editions.copies)}


def test_search_within_a_document_shows_all_its_passages(repeats: SimpleNamespace) -> None:
    response = search(QUESTION, viewer=None, filters=_only(repeats.manual), group=False)

    assert response.total == repeats.manual.chunks.count()
    assert set(titles(response)) == {"Shift manual"}
    both = search(QUESTION, viewer=None, filters=_only(repeats.manual, repeats.other))
    assert sorted(titles(both)) == ["Canteen", "Shift manual"]


def test_document_with_the_named_code_precedes_its_near_duplicate() -> None:
    collection = make_collection("Reports")
    for number in ("0041", "0042"):
        text = edition(f"Report {number}", "12 March 2024") + f"\nThis is INC-2024-{number}.\n"
        make_document(collection, text, file_name=f"{number}.md")

    one = search("INC-2024-0042 handover", viewer=None)
    assert titles(one)[0] == "Report 0042"
    assert "Report 0041" in {copy.title for copy in one.results[0].copies}
    both = search("INC-2024-0041 INC-2024-0042 handover", viewer=None)
    assert sorted(titles(both)[:2]) == ["Report 0041", "Report 0042"]


def test_chunk_deleted_after_ranking_is_left_out(repeats: SimpleNamespace) -> None:
    response = search(QUESTION, viewer=None)
    editions = response.groups[0]
    Chunk.objects.filter(pk=editions.copies[0].candidate.chunk_id).delete()

    shown = results_for(response.groups, viewer=None, terms=response.terms)
    assert len(shown[0].copies) == 1
    Chunk.objects.filter(pk=editions.best.candidate.chunk_id).delete()
    assert len(results_for(response.groups, viewer=None, terms=())) == len(shown) - 1


def _only(*documents: Document) -> Filters:
    return Filters(documents=tuple(document.public_id for document in documents))
