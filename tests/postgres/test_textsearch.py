"""pg_textsearch finds candidates of the keyword signal; their scores stay ours (ADR 80)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group
from django.core.checks import run_checks
from django.db import connection, connections, transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from common.accounts.models import User
from ingestion.lexical import terms, textsearch
from ingestion.models import Chunk, Collection
from search.domain import Query, Signal
from search.pipeline import search
from search.retrieval import Filters, Scope, retrieve
from search.retrieval import textsearch as finder
from tests.support.factories import make_collection
from tests.support.laws import examples
from tests.support.ranking import objects
from tests.support.shelf import NOBODY, keywords_only, shelve
from tests.support.textsearch_server import connected

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("not_kept")]

WORDS = {f"word{rank}": min(0.6, 1.2 / rank) for rank in range(1, 40)}
DEPTH = 30
# ADR 80, for readers of everything: no chunk that was passed over scores more than this times the
# least score among the candidates.
BOUND = 1.25


@pytest.fixture(scope="module", autouse=True)
def database(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """All tests of this module run on a server with the extension, and choose it."""
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock():
        patch.setattr("django.conf.settings.KEYWORD_BACKEND", "pg_textsearch")
        with connected(tmp_path_factory.mktemp("textsearch")):
            yield


@pytest.fixture(autouse=True)
def look_again(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test does to the index, its end undoes. The index is read."""
    monkeypatch.setattr(textsearch, "_looked", {})
    with connection.cursor() as cursor:  # the planner would sort so few rows without the index
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")


@pytest.fixture(scope="module")
def shelf(database: None) -> Iterator[Collection]:
    """300 public chunks of random words, in English and German, under a title."""
    chance = random.Random(5)
    with transaction.atomic():
        shelf = make_collection("Shelf")
        for config in ("english", "german"):
            texts = [
                " ".join(
                    " ".join([word] * chance.choice((1, 1, 2, 5)))
                    for word, share in WORDS.items()
                    if chance.random() < share
                )
                for _ in range(150)
            ]
            shelve(shelf, config, texts, title="Sailing 東京大学")
        terms.fold()
        yield shelf
        transaction.set_rollback(True)
    connections.close_all()


def found(text: str, *, viewer: Any = NOBODY, **fields: Any) -> dict[int, float]:
    """The candidates' keyword scores."""
    profile = keywords_only(**{"depth": DEPTH, **fields})
    candidates = retrieve(Query(text), Scope.of(viewer, Filters()), profile)
    return {c.chunk_id: c.raw[Signal.KEYWORD] for c in objects(candidates)}


def found_otherwise(text: str, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> dict[int, float]:
    """The same without the extension: all chunks with a word of the text, scored."""
    with monkeypatch.context() as patch:
        patch.setattr("django.conf.settings.KEYWORD_BACKEND", "postgres")
        return found(text, **{"depth": 1000, "keyword_budget": 10**6, **fields})


@pytest.mark.parametrize("is_spilled", [False, True], ids=["in memory", "on disk"])
@given(words=st.lists(st.sampled_from(sorted(WORDS)), min_size=1, max_size=4, unique=True))
@hypothesis_settings(
    max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_scores_are_ours_and_what_is_passed_over_is_bounded(
    shelf: Collection, is_spilled: bool, words: list[str]
) -> None:
    if is_spilled:
        with connection.cursor() as cursor:
            cursor.execute("SELECT bm25_spill_index(%s)", [textsearch.INDEX])
    text = " ".join(words)
    with pytest.MonkeyPatch.context() as patch:
        every = found_otherwise(text, patch)
    candidates = found(text)
    assert candidates == pytest.approx({pk: every[pk] for pk in candidates})
    missed = 1 if is_spilled else 0  # a fault of version 1.0.0 (ADR 80)
    assert len(candidates) >= min(DEPTH, len(every) - missed)
    passed_over = sorted(score for pk, score in every.items() if pk not in candidates)
    bounded = passed_over[: len(passed_over) - missed]
    assert max(bounded, default=0.0) <= BOUND * min(candidates.values())


def test_titles_and_scripts_without_spaces_find_chunks(shelf: Collection) -> None:
    assert len(found("sailing")) == len(found("東京")) == DEPTH
    assert not found("nowhere")
    assert not found("the")


@pytest.mark.parametrize("is_wide", [True, False], ids=["reads half", "reads too little"])
def test_nobody_finds_what_they_may_not_read(
    shelf: Collection, is_wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best matches are another group's: they neither appear nor keep readable ones away."""
    monkeypatch.setattr(finder, "LEAST_SHARE", 0.2 if is_wide else 0.9)
    closed = make_collection("closed", visibility="groups")
    group = Group.objects.create(name="owners")
    closed.groups.add(group)
    hidden = set(shelve(closed, "english", ["word7 word7 word7"] * 320))
    terms.fold()
    every = found_otherwise("word7", monkeypatch)
    readable = found("word7")
    assert readable == pytest.approx({pk: every[pk] for pk in readable})
    assert len(readable) == min(DEPTH, len(every))
    assert not hidden & readable.keys()
    member = User.objects.create_user("owner", password="pw")
    member.groups.add(group)
    assert found("word7", viewer=member).keys() <= hidden


def test_a_chunk_that_is_no_longer_searchable_is_not_found(shelf: Collection) -> None:
    (pk,) = shelve(shelf, "english", ["unheard"])
    assert list(found("unheard")) == [pk]
    Chunk.objects.filter(pk=pk).update(searchable=False)
    assert not found("unheard")


def test_a_search_uses_it(shelf: Collection) -> None:
    hits = search("word9", viewer=AnonymousUser()).hits
    assert hits


def test_the_setting_alone_decides(shelf: Collection, settings: Any) -> None:
    def problems() -> list[str]:
        return [each.id or "" for each in run_checks(tags=["database"], databases=["default"])]

    assert not {"steelyard.W035", "steelyard.E034"} & {*problems()}
    settings.KEYWORD_BACKEND = "postgres"
    with connection.cursor() as cursor:  # else no table can be changed before the transaction ends
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    textsearch.follow_settings()
    assert not textsearch.exists()
    settings.KEYWORD_BACKEND = "pg_textsearch"
    assert "steelyard.W035" in problems()
    assert found("word9")  # by the own index
    settings.KEYWORD_BACKEND = "elsewhere"
    assert "steelyard.E034" in problems()
