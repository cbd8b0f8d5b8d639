"""Statements kept by shape and prepared find what statements made anew find, for every reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser, Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.accounts.models import User
from ingestion.lexical import bm25_weights
from ingestion.models import Collection
from search.domain import Boost, Candidates, KeywordScorer, Profile, Query, TitleScorer
from search.pipeline import search
from search.query import parse
from search.ranking.text_boosts import by_criteria
from search.retrieval import Filters, RetrievalOptions, Scope, prepared, retrieve
from search.signals import vector
from tests.support.factories import make_collection, make_document
from tests.support.laws import examples

pytestmark = pytest.mark.django_db

TEXTS = ("The beam of a steelyard.", "A poise of 40 % slides on the beam.", "INC-4711: it broke.")
WORDS = ("beam", "poise", "steelyard", "40 %", "it's", "INC-4711", "nowhere", "the", "\\back")


@pytest.fixture
def readers(reader: User, member: User, administrator: User) -> list[User | AnonymousUser | None]:
    """Readers of each kind, and a collection for each audience with the same three documents."""
    for audience in ("public", "signed_in", "groups"):
        collection = make_collection(name=audience, visibility=audience)
        for text in TEXTS:
            make_document(collection, f"# {audience}\n\n{text}")
    Collection.objects.get(name="groups").groups.add(Group.objects.get(name="insiders"))
    limited = User.objects.get(pk=member.pk)
    limited.collections_limit = frozenset(
        Collection.objects.filter(name="groups").values_list("pk", flat=True)
    )
    return [None, AnonymousUser(), reader, member, administrator, limited]


def anew(query: Query, scope: Scope, profile: Profile, **given: Any) -> Candidates:
    """The retrieval by a statement that is compiled for this question, as text."""
    return retrieve(query, replace(scope, is_whole=False), profile, **given)


def same(one: Candidates, other: Candidates) -> bool:
    names = ("terms", "left_out", "unchecked", "unknown", "readings", "forms", "languages")
    assert one.rows.tobytes() == other.rows.tobytes()
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    return np.array_equal(one.embeddings is None, other.embeddings is None)


def profiles() -> st.SearchStrategy[Profile]:
    return st.builds(
        lambda default, **fields: replace(default, **fields),
        st.just(PROFILE),
        depth=st.sampled_from([2, 100]),
        keyword_scorer=st.sampled_from(KeywordScorer),
        title_scorer=st.sampled_from(TitleScorer),
    )


PROFILE = Profile("kept", 1, {})
BOOSTS = (Boost("percent", 1.5, pattern="%"), Boost("named", 1.2, anchor=r"(INC-\d+)"))


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), profiles(), st.data())
def test_prepared_statement_finds_the_same_as_a_new_statement(
    readers: list[User | AnonymousUser | None], words: list[str], profile: Profile, data: Any
) -> None:
    query = replace(parse(" ".join(words), ()), expansions=tuple(words[:1]))
    slugs = data.draw(st.sampled_from([(), ("public",), ("groups", "nothing")]))
    options = RetrievalOptions(
        boosts=by_criteria(data.draw(st.sampled_from([(), BOOSTS]))),
        places=data.draw(st.booleans()),
        words=tuple((word, "") for word in words),
    )
    for viewer in readers:
        scope = Scope.of(viewer, Filters(collections=slugs)).narrowed_by(query)
        found = retrieve(query, scope, profile, options=options)
        assert same(found, anew(query, scope, profile, options=options))


def test_prepared_statement_respects_changed_rights(
    readers: list[User | AnonymousUser | None], member: User
) -> None:
    def read(viewer: Any) -> set[str]:
        return {result.collection for result in search("beam", viewer=viewer, group=False).results}

    assert read(None) == {"public"}
    assert read(member) == {"public", "signed_in", "groups"}
    member.groups.clear()
    assert read(member) == {"public", "signed_in"}
    Collection.objects.filter(name="public").update(visibility="signed_in")
    assert read(None) == set()
    assert read(AnonymousUser()) == set()


class TestTheDatabase:
    @pytest.fixture(autouse=True)
    def _shelf(self) -> None:
        make_document(make_collection(visibility="public"), "# Beam\n\nThe long arm.")

    @pytest.fixture
    def sent(self) -> Iterator[list[str]]:
        texts: list[str] = []

        def keep(execute: Any, sql: str, *rest: Any) -> Any:
            texts.append(sql)
            return execute(sql, *rest)

        with connection.execute_wrapper(keep):
            yield texts

    def test_database_plans_each_statement_shape_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(prepared, "PLAN_SECONDS", 1e9)
        before = self.prepared()
        for question in ("long arm", "beam"):
            assert search(question, viewer=None).total == 1
        new = {name: plans for name, plans in self.prepared().items() if name not in before}
        # The words, the candidates and the rows of the results: twice each, without a plan for the
        # values.
        assert list(new.values()) == [[2, 0], [2, 0], [2, 0]]

    def test_plans_anew_after_a_while(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = self.prepared()
        for seconds in (1e9, 1e-9):
            monkeypatch.setattr(prepared, "PLAN_SECONDS", seconds)
            assert search("beam", viewer=None).total == 1
        assert len(self.prepared().keys() - before.keys()) == 6

    def test_database_gets_unprepared_statements_if_switched_off(
        self, sent: list[str], settings: Any
    ) -> None:
        before = self.prepared()
        settings.PREPARED_STATEMENTS = False
        assert search("long arm", viewer=None).total == 1
        assert sum("WITH readable" in sql for sql in sent) == 3
        assert self.prepared() == before

    @pytest.mark.parametrize("way", [vector.INDEX, vector.SCAN, vector.FEW])
    def test_a_person_can_read_the_plan_of_a_plain_question(
        self, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By the nodes of both plans, executed or not; of one statement they were 343 (ADR 78)."""
        monkeypatch.setattr(vector, "way_of", lambda _: way)
        sent: list[tuple[str, Any]] = []

        def keep(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
            sent.append((sql, params))
            return execute(sql, params, *rest)

        with CaptureQueriesContext(connection), connection.execute_wrapper(keep):
            search("how long is the arm", viewer=None)
        words, candidates, _ = (each for each in sent if "WITH readable" in each[0])
        assert "<=>" in candidates[0]
        assert self.nodes(*words) <= 45
        assert self.nodes(*candidates) <= 120

    def nodes(self, statement: str, params: Any) -> int:
        """The number of nodes of the statement's plan."""
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", params)
            found = cursor.fetchone()[0]
        tree = json.loads(found) if isinstance(found, str) else found

        def count(node: dict[str, Any]) -> int:
            return 1 + sum(map(count, node.get("Plans", ())))

        return count(tree[0]["Plan"])

    def test_index_scan_depth_grows_with_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vector, "way_of", lambda _: vector.INDEX)

        def ef_search() -> str:
            search("long arm", viewer=None)
            with connection.cursor() as cursor:  # local to the transaction: here the test's
                cursor.execute("SHOW hnsw.ef_search")
                return str(cursor.fetchone()[0])

        bm25_weights.fold()
        assert ef_search() == "200"
        monkeypatch.setattr(vector, "EF_SEARCH", {1: 200, 2**40: 800})
        assert ef_search() == "800"

    @pytest.mark.parametrize("statements_are_prepared", [True, False])
    def test_a_statement_sets_the_depth_of_its_index_scan(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch, *, statements_are_prepared: bool
    ) -> None:
        """A pooler may not pass the options of a connection on."""
        monkeypatch.setattr(vector, "way_of", lambda _: vector.INDEX)
        settings.PREPARED_STATEMENTS = statements_are_prepared
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL hnsw.ef_search = 40; SET LOCAL hnsw.iterative_scan = off")
            search("long arm", viewer=None)
            cursor.execute(
                "SELECT current_setting('hnsw.ef_search'), current_setting('hnsw.iterative_scan')"
            )
            assert cursor.fetchone() == ("200", "relaxed_order")

    def prepared(self) -> dict[str, list[int]]:
        """The plans of this connection's prepared searches by name: runs of generic, of custom."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, statement, generic_plans, custom_plans FROM pg_prepared_statements"
            )
            rows = cursor.fetchall()
        return {name: plans for name, text, *plans in rows if "WITH readable" in text}


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_lost_its_statements_prepares_them_again() -> None:
    one = "SELECT %(a)s::int + 1"
    assert prepared.run(one, {"a": 1}) == [(2,)]
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")  # as when a pooler hands over another connection
    assert prepared.run(one, {"a": 2}) == [(3,)]
