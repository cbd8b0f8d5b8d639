"""Filters never starve the vector signal, and each scope is read in the way that suits it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.accounts.models import User
from ingestion import spaces
from ingestion.models import ChunkEmbedding, Collection, EmbeddingSpace, Visibility
from search.domain import Profile, Query, QueryClass, Signal, Weights
from search.retrieval import Filters, Scope, retrieve
from search.retrieval.prepared import Shapes
from search.signals import vector as vector_module
from tests.support.database import lasting
from tests.support.factories import make_collection
from tests.support.ranking import objects
from tests.support.written_chunks import shelve

pytestmark = pytest.mark.django_db

DIMENSIONS = 24  # few, so that the index is built within a second
CLUSTERS = 40
SMALL = 1_000  # in place of the bound that suits a library of 200,000
BROAD = 2_500
FEW = BROAD // 100
# Words that stand nowhere: only the vector signal can find anything.
QUERY = Query("zyzzyva")


def clustered(chance: np.random.Generator, count: int) -> np.ndarray:
    """Unit vectors around `CLUSTERS` random centres."""
    centres = chance.standard_normal((CLUSTERS, DIMENSIONS))
    vectors = centres[chance.integers(CLUSTERS, size=count)]
    vectors = vectors + 0.4 * chance.standard_normal((count, DIMENSIONS))
    return unit(vectors)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def shelve_near(
    collection: Collection, language: str, space: EmbeddingSpace, vectors: np.ndarray
) -> None:
    """A searchable document in `language` with a chunk for each vector."""
    texts = ["Nothing of note."] * len(vectors)
    chunks = shelve(collection, "simple", texts, language=language)
    ChunkEmbedding.objects.bulk_create(
        ChunkEmbedding(chunk_id=chunk, space=space, vector=vector)
        for chunk, vector in zip(chunks, vectors, strict=True)
    )


@pytest.fixture(scope="module")
def space(django_db_setup: None, django_db_blocker: Any) -> Iterator[EmbeddingSpace]:
    """A public shelf of `BROAD` chunks, of which 1% are in German among the others and 1% in
    French on the far side; and a shelf of 1% for signed-in users alone."""
    with lasting(django_db_blocker):
        space = EmbeddingSpace.objects.create(
            name="small", fingerprint="small", dimensions=DIMENSIONS, max_tokens=10
        )
        chance = np.random.default_rng(11)
        vectors = clustered(chance, BROAD - FEW)
        near = unit(question() + 0.2 * chance.standard_normal((2 * FEW, DIMENSIONS)))
        shelf = make_collection("Shelf")
        shelve_near(shelf, "en", space, np.concatenate([vectors[FEW:], near]))
        shelve_near(shelf, "de", space, vectors[:FEW])
        shelve_near(shelf, "fr", space, unit(clustered(chance, FEW) - 3 * question()))
        back = make_collection("Back room", visibility=Visibility.SIGNED_IN)
        shelve_near(back, "it", space, clustered(chance, FEW))
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # no index is built over open checks
            spaces.create_index(space)
            for table in ("chunk", "chunkembedding", "document", "corpuschange"):
                cursor.execute(f"ANALYZE ingestion_{table}")
        yield space


@pytest.fixture
def profile() -> Profile:
    return Profile("test", 1, dict.fromkeys(QueryClass, Weights(1, 0, 0)), depth=10)


@pytest.fixture(autouse=True)
def small_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_module, "SMALL_SCOPE", SMALL)


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes HNSW answer in scopes that are otherwise read whole."""
    monkeypatch.setattr(vector_module, "SMALL_SCOPE", 1)


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shelf is a small scope, and a large part of all chunks."""
    monkeypatch.setattr("search.retrieval.statement._shapes", Shapes())  # statements of other tests
    monkeypatch.setattr(vector_module, "SMALL_SCOPE", 2 * BROAD)


def question() -> np.ndarray:
    return np.eye(DIMENSIONS)[0]


def best_ten(found: Any) -> list[int]:
    ranked = sorted(objects(found), key=lambda c: (-c.raw[Signal.VECTOR], c.chunk_id))
    return [candidate.chunk_id for candidate in ranked[:10]]


def exact_ten(space: EmbeddingSpace, question: np.ndarray, **held: Any) -> set[int]:
    """The ten nearest, by comparing with every vector."""
    rows = ChunkEmbedding.objects.filter(space=space, **held).values_list("chunk_id", "vector")
    ids, vectors = zip(*rows, strict=True)
    distances = -np.array(vectors) @ question
    return {ids[i] for i in np.argsort(distances, kind="stable")[:10]}


def recall(space: EmbeddingSpace, profile: Profile, scope: Scope, **held: Any) -> float:
    """The mean share of the exact ten over several questions; every page must be full."""
    shares = []
    chance = np.random.default_rng(5)
    for asked in [question(), *clustered(chance, 9)]:
        found = retrieve(QUERY, scope, profile, space=space, embedding=asked.tolist())
        assert len(found) >= 10
        shares.append(len(set(best_ten(found)) & exact_ten(space, asked, **held)) / 10)
    return float(np.mean(shares))


@pytest.mark.parametrize("language", ["de", "fr"], ids=["scattered", "far away"])
class TestAFilterThatKeepsOneInAHundred:
    def test_narrow_filter_gets_the_exact_page(
        self, space: EmbeddingSpace, profile: Profile, language: str
    ) -> None:
        scope = Scope.of(None, Filters(languages=(language,)))
        assert recall(space, profile, scope, chunk__document__language=language) == 1

    @pytest.mark.usefixtures("walks", "index_preferred")
    def test_narrow_filter_is_not_starved_by_the_index(
        self, space: EmbeddingSpace, profile: Profile, language: str
    ) -> None:
        scope = Scope.of(None, Filters(languages=(language,)))
        assert recall(space, profile, scope, chunk__document__language=language) >= 0.95


@pytest.fixture
def index_preferred(db: None) -> None:
    """So small a table is sooner sorted: here the planner takes an index where one serves."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_sort = off")


def test_a_viewer_of_few_chunks_gets_the_exact_page(
    space: EmbeddingSpace, profile: Profile, reader: User
) -> None:
    Collection.objects.filter(name="Shelf").update(visibility=Visibility.GROUPS)
    scope = Scope.of(reader, Filters())
    assert recall(space, profile, scope, chunk__document__language="it") == 1


@pytest.mark.usefixtures("index_preferred")
def test_the_whole_library_is_answered_by_the_index(
    space: EmbeddingSpace, profile: Profile
) -> None:
    scope = Scope.of(None, Filters())
    assert recall(space, profile, scope, chunk__collection__name="Shelf") >= 0.95


@pytest.mark.usefixtures("scans")
@pytest.mark.parametrize("scanned", [4, 1], ids=["enough", "too few of them in the scope"])
@pytest.mark.parametrize("languages", [(), ("en",)], ids=["whole collections", "filtered"])
def test_a_small_scope_that_is_most_of_the_library_gets_the_exact_page(
    space: EmbeddingSpace,
    profile: Profile,
    languages: tuple[str, ...],
    scanned: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vector_module, "SCANNED", scanned)
    held = {"chunk__document__language__in": languages} if languages else {}
    scope = Scope.of(None, Filters(languages=languages))
    assert recall(space, profile, scope, chunk__collection__name="Shelf", **held) == 1


@pytest.mark.usefixtures("index_preferred")
class TestTheWayIsChosen:
    """By what Postgres did, as EXPLAIN (ANALYZE) tells it."""

    @pytest.fixture
    def plan(self, space: EmbeddingSpace, profile: Profile) -> Any:
        def of(scope: Scope) -> Plan:
            sent: list[tuple[str, Any]] = []

            def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
                sent.append((sql, params))
                return execute(sql, params, many, context)

            with CaptureQueriesContext(connection), connection.execute_wrapper(keep):
                retrieve(QUERY, scope, profile, space=space, embedding=question().tolist())
            [_, (sql, params)] = sent  # the words, the candidates
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
                found = cursor.fetchone()[0]
            tree = json.loads(found) if isinstance(found, str) else found
            return Plan(tree[0]["Plan"], space.index_name)

        return of

    @pytest.mark.parametrize("setting", ["on", "as if all were parallel", "without nested loops"])
    def test_whole_library_is_searched_by_the_index(self, plan: Any, setting: str) -> None:
        with connection.cursor() as cursor:
            if setting == "as if all were parallel":
                cursor.execute("SET LOCAL min_parallel_table_scan_size = 0")
                cursor.execute("SET LOCAL parallel_setup_cost = 0")
                cursor.execute("SET LOCAL parallel_tuple_cost = 0")
            elif setting == "without nested loops":
                cursor.execute("SET LOCAL enable_nestloop = off")
        found = plan(Scope.of(None, Filters()))
        assert found.walked
        assert found.read_whole == 0
        assert found.scanned == 0

    @pytest.mark.parametrize("language", ["de", "fr"])
    def test_narrow_filter_is_searched_exactly(self, plan: Any, language: str) -> None:
        found = plan(Scope.of(None, Filters(languages=(language,))))
        assert not found.walked
        assert found.read_whole == FEW


class Plan:
    """What a plan says of the vector signal.

    `walked`: the space's index was read. `read_whole`: vectors that were sorted without it, and
    `scanned` those that were read one after another.
    """

    def __init__(self, root: dict[str, Any], index: str) -> None:
        nodes = list(_nodes(root))
        self.walked = any(
            node.get("Index Name") == index and node["Actual Loops"] for node in nodes
        )
        self.scanned = sum(
            node["Actual Rows"] * node["Actual Loops"]
            for node in nodes
            if node["Node Type"] == "Seq Scan"
            and node["Relation Name"] == ChunkEmbedding._meta.db_table
        )
        self.read_whole = sum(
            node["Plans"][0]["Actual Rows"]
            for node in nodes
            if node["Node Type"] == "Sort"
            and any("::halfvec)" in key and "<=>" in key for key in node["Sort Key"])
            and node["Actual Loops"]
        )


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for part in node.get("Plans", ()):
        yield from _nodes(part)
