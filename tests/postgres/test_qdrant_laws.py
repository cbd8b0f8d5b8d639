"""Qdrant finds and scores what Postgres finds and scores, for whatever is asked of whatever."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser, Group
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.accounts.models import User
from ingestion.identifiers import DEFAULT_PATTERNS
from ingestion.lexical import bm25_weights
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Document,
    DocumentVersion,
    EmbeddingSpace,
    Identifier,
)
from search.domain import (
    OPTIONAL,
    SIGNALS,
    Boost,
    Candidates,
    KeywordScorer,
    Pinned,
    Profile,
    Query,
    Signal,
    TitleScorer,
)
from search.domain.questions import Relative
from search.parts.qdrant import retrieve as backend
from search.query import parse
from search.ranking.text_boosts import by_criteria
from search.retrieval import Filters, RetrievalOptions, Scope, retrieve, statement
from search.retrieval.prepared import Shapes
from search.signals import keyword
from search.signals import vector as vectors
from tests.support.database import lasting
from tests.support.engines import KINDS, LOCAL, build, open_space, opened, use
from tests.support.factories import make_collection
from tests.support.laws import examples

pytestmark = [pytest.mark.django_db, *map(pytest.mark.filterwarnings, LOCAL)]

DIMENSIONS = 12
WORDS = [f"w{rank}" for rank in range(1, 40)] + ["half-life", "halflife", "it's", "40 %"]
CODES = ("INC-2024-0042", "A-1312/B", "ISO 9001")
# Half precision: the engine and Postgres each round a unit vector of their own making.
NEAR = {Signal.VECTOR: 1e-3}
PROFILE = Profile("law", 1, {}, keyword_budget=10**9)


@pytest.fixture(scope="module", params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Any]:
    with opened(request.param, tmp_path_factory.mktemp("engine")) as engine:
        yield engine


@pytest.fixture(scope="module")
def space(django_db_setup: None, django_db_blocker: Any, engine: Any) -> Iterator[EmbeddingSpace]:
    """Three collections for different readers, in two languages, and their points."""
    with lasting(django_db_blocker):
        space = open_space(DIMENSIONS)
        for audience in ("public", "signed_in", "groups"):
            collection = make_collection(audience, visibility=audience)
            if audience == "groups":
                collection.groups.add(Group.objects.get_or_create(name="insiders")[0])
            for number in range(12):
                shelve(collection, space, random.Random(f"{audience} {number}"), number)
        bm25_weights.fold()
        with pytest.MonkeyPatch.context() as patch:
            use(patch, engine)
            build()
        yield space


def shelve(collection: Any, space: EmbeddingSpace, chance: random.Random, number: int) -> None:
    """A document of random words, some identifiers, and a vector for most chunks."""
    language, config = chance.choice((("en", "english"), ("de", "german")))
    title = " ".join(chance.sample(WORDS, 3))
    document = Document.objects.create(
        collection=collection, title=title, language=language, content_hash=f"{number}"
    )
    version = DocumentVersion.objects.create(document=document, number=1, size=1)
    document.current = version
    document.save(update_fields=["current"])
    chunks = Chunk.objects.bulk_create(
        Chunk(
            collection=collection,
            document=document,
            version=version,
            ordinal=place,
            searchable=chance.random() < 0.9,
            text=" ".join([*chance.choices(WORDS, k=12), *chance.sample(CODES, place % 2)]),
            text_config=config,
            kind=chance.choice(("paragraph", "code")),
            start=0,
            end=1,
            tokens=12,
            content_hash=f"{number}-{place}",
            signature=chance.getrandbits(60),
        )
        for place in range(5)
    )
    bm25_weights.read_terms(version.pk, title=title)
    bm25_weights.read_title(document.pk, title, language)
    bm25_weights.count_in(version.pk)
    numbers = np.random.default_rng(chance.getrandbits(32))
    ChunkEmbedding.objects.bulk_create(
        ChunkEmbedding(chunk=chunk, space=space, vector=unit(numbers)) for chunk in chunks[1:]
    )
    for chunk in chunks:
        for form in {code.lower() for code in CODES if code in chunk.text}:
            Identifier.objects.create(chunk=chunk, form=form, strength=1, place=2)


def unit(numbers: np.random.Generator) -> list[float]:
    vector = numbers.standard_normal(DIMENSIONS)
    return list(vector / np.linalg.norm(vector))


@pytest.fixture
def readers(space: EmbeddingSpace, reader: User, member: User, administrator: User) -> list[Any]:
    return [None, AnonymousUser(), reader, member, administrator]


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
    """Postgres scores every chunk with a term: what it prunes beyond rank 10 is its own matter."""
    monkeypatch.setattr(keyword, "SEED_CHUNKS", 10**9)
    monkeypatch.setattr(statement, "_shapes", Shapes())
    use(monkeypatch, engine)


def questions() -> st.SearchStrategy[Query]:
    """Words, compounds, identifiers, phrases and exclusions, with synonyms and related words."""
    asked = st.sampled_from([*WORDS, *CODES, '"w1 w2"', "-w3", "the", "nowhere", "title:w4"])
    added = st.lists(st.sampled_from(WORDS), max_size=3)

    def query(words: list[str], synonyms: list[str], related: list[str]) -> Query:
        found = parse(" ".join(words), DEFAULT_PATTERNS)
        relatives = tuple(Relative(word, 0.5) for word in related)
        return replace(found, expansions=tuple(synonyms), related=relatives)

    words = st.tuples(st.sampled_from(WORDS), st.lists(asked, max_size=5))
    return st.builds(query, words.map(lambda drawn: [drawn[0], *drawn[1]]), added, added)


def profiles() -> st.SearchStrategy[Profile]:
    return st.builds(
        lambda **fields: replace(PROFILE, **fields),
        depth=st.sampled_from([3, 20, 100]),
        keyword_scorer=st.sampled_from([*[KeywordScorer.BM25] * 4, *KeywordScorer]),
        title_scorer=st.sampled_from(TitleScorer),
        vector_candidates_only=st.booleans(),
    )


FILTERS = (
    Filters(),
    Filters(),
    Filters(collections=("public", "groups")),
    Filters(languages=("de",)),
    Filters(languages=("xx",)),
)
BOOSTS = (Boost("percent", 1.5, pattern="%"), Boost("named", 1.2, anchor=r"(INC-[0-9-]+)"))


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(questions(), profiles(), st.sampled_from(FILTERS), st.data())
def test_both_backends_find_the_same_candidates_with_the_same_scores(
    readers: list[Any],
    space: EmbeddingSpace,
    query: Query,
    profile: Profile,
    filters: Filters,
    data: Any,
) -> None:
    documents = list(Document.objects.order_by("pk").values_list("pk", flat=True))
    some = st.lists(st.sampled_from(documents), max_size=2, unique=True)
    options = RetrievalOptions(
        signals=frozenset(data.draw(st.sets(st.sampled_from(OPTIONAL)))),
        embeddings=data.draw(st.booleans()),
        boosts=by_criteria(data.draw(st.sampled_from([(), BOOSTS]))),
        pins=tuple(Pinned(each) for each in data.draw(some)),
        words=(("w1", ""), ("unknown", "")),
        places=data.draw(st.booleans()),
    )
    hidden = data.draw(some)
    embedding = data.draw(st.sampled_from([None, 1, 2]))
    vector = unit(np.random.default_rng(embedding)) if embedding else None
    for viewer in readers:
        scope = Scope.of(viewer, filters).narrowed_by(query).without(hidden)
        given = {"space": space, "embedding": vector, "options": options}
        ours = statement.retrieve(query, scope, profile, **given)
        theirs = retrieve(query, scope, profile, **given)
        assert not theirs.degraded
        assert_alike(ours, theirs, profile)


@pytest.mark.parametrize("asked", ["w1 w2 w3", '"w1 w2" w3', "w3 -w1", "title:w4 w1 w2"])
def test_a_narrow_scope_of_many_chunks_is_filled_by_asking_for_more(
    space: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr(vectors, "SMALL_SCOPE", 2)
    monkeypatch.setattr(statement, "_shapes", Shapes(0))
    monkeypatch.setattr(backend, "MORE", 1.0)
    profile = replace(PROFILE, depth=3)
    query = parse(asked, ())
    for filters in (Filters(), Filters(languages=("de",)), Filters(collections=("public",))):
        scope = Scope.of(None, filters).narrowed_by(query)
        vector = unit(np.random.default_rng(5))
        ours = statement.retrieve(query, scope, profile, space=space, embedding=vector)
        assert_alike(ours, retrieve(query, scope, profile, space=space, embedding=vector), profile)


def assert_alike(ours: Candidates, theirs: Candidates, profile: Profile) -> None:
    """Equal facts of the question; equal candidates with equal scores, but for ties at the end."""
    for name in ("terms", "left_out", "unchecked", "unknown", "readings", "boosts", "expanded"):
        assert getattr(ours, name) == getattr(theirs, name), name
    left, right = ours.rows["chunk"], theirs.rows["chunk"]
    shared = np.intersect1d(left, right)
    one, other = ours.rows[np.isin(left, shared)], theirs.rows[np.isin(right, shared)]
    for name in ("document", "signature", "pin", "held_at", "strength", "counts", "embedded"):
        assert (one[name] == other[name]).all(), name
    for place, signal in enumerate(SIGNALS):
        assert one["raw"][:, place] == pytest.approx(
            other["raw"][:, place], abs=NEAR.get(signal, 1e-5), nan_ok=True
        ), signal
    for rows, only in ((ours.rows, left), (theirs.rows, right)):
        for row in rows[~np.isin(only, shared)]:
            assert is_a_tie(row, rows, profile), (row, ours.query)


def is_a_tie(row: Any, rows: Any, profile: Profile) -> bool:
    """Whether another candidate has its score, under a signal that found as many as it may."""
    for place, signal in enumerate(SIGNALS):
        scores = rows["raw"][:, place]
        near = NEAR.get(signal, 1e-5)
        better = np.count_nonzero(scores > row["raw"][place] + near)
        close = np.count_nonzero(np.abs(scores - row["raw"][place]) <= near)
        if better < profile.depth <= better + close:
            return True
    return False
