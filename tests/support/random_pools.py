"""Random pools and profiles for the tests and the benchmark of the what-if."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from ingestion.models import EmbeddingSpace
from search.domain import (
    Boost,
    Candidate,
    Classifier,
    Fusion,
    IdentifierMatch,
    KeywordScorer,
    Normaliser,
    Profile,
    Query,
    QueryClass,
    QueryIdentifier,
    Reading,
    Signal,
    TermStatistic,
    Weights,
)
from search.engine.configuration import Configuration
from search.ranking.confidence import Background
from search.ranking.text_boosts import boost_key
from search.tuning.evaluation.whatif import Case
from tests.support.ranking import columns

DIMENSIONS = 8
BOOSTS = (
    Boost("codes", 1.5, pattern="code"),
    Boost("tables", 0.07, multiply=False, kinds=("table",)),
    Boost("debugging", 0.5, pattern="error", query_class=QueryClass.DEBUG),
)
# Some match classifier rules, some an identifier, some neither.
TEXTS = ("how does the pump work", "A-1312/B", "error in the pump", "pump", "the § 12 of it all")


def configuration(*, languages: tuple[str, ...] = ("en",)) -> Configuration:
    """A configuration that is not in a database, with a background."""
    return Configuration(
        stamp=1,
        active=None,
        published={},
        space=EmbeddingSpace(name="space", dimensions=DIMENSIONS, languages=list(languages)),
        background=Background(0.1, 0.2),
    )


def random_case(seed: int, size: int, *, dimensions: int = DIMENSIONS, depth: int = 20) -> Case:
    """A query with `size` candidates; many of their scores are equal, as real ones are."""
    chance = random.Random(seed)
    embeddings = np.random.default_rng(seed).normal(size=(size, dimensions)).astype(">f2")
    documents = max(1, size // 2)
    candidates, places = [], []
    for i, chunk in enumerate(chance.sample(range(1, size * 3 + 1), size)):
        document = chance.randint(1, documents)
        candidates.append(_candidate(chance, chunk, document, embeddings[i].tobytes()))
        places.append(_places(chance, candidates[-1], depth))
    text = chance.choice(TEXTS)
    named = QueryIdentifier(text, "part", (("a1312b", 1.0),)) if "1312" in text else None
    query = Query(
        text,
        identifiers=(named,) if named else (),
        is_identifier=named is not None,
        needs_no_embedding=named is not None and chance.random() < 0.5,
        original=text,
    )
    pool = columns(
        candidates,
        query,
        boosts=list(map(boost_key, BOOSTS)),
        places=places,
        terms=tuple(TermStatistic(word, 3, chance.random() * 3) for word in text.split()),
        readings=(Reading(chance.choice(("english", "german")), 10, 4),),
        by_meaning=chance.random() < 0.9,
    )
    grades = {chance.randint(1, documents + 3): chance.randint(0, 3) for _ in range(4)}
    forced = chance.choice((None, None, *QueryClass))
    return Case(str(seed), pool, grades, forced)


def random_profile(seed: int, **fields: object) -> Profile:
    """A profile that uses every setting."""
    chance = random.Random(seed)
    normalisers = {
        signal: chance.choice(list(Normaliser))
        for signal in (Signal.VECTOR, Signal.KEYWORD, Signal.TITLE)
    }
    made = Profile(
        "random",
        1,
        {query_class: _weights(chance) for query_class in QueryClass},
        classifier=chance.choice((Classifier.RULES, Classifier.NONE, Classifier.ANCHORS)),
        bypass=chance.choice(("", "", "^pump$")),
        fusion=chance.choice(list(Fusion)),
        normalisers=normalisers,
        rrf_k=chance.choice((1, 60)),
        both_factor=chance.choice((1.0, 1.5)),
        both_first=chance.random() < 0.2,
        own_candidates_only=chance.random() < 0.3,
        language_lean=chance.random() < 0.5,
        boosts=chance.choice(((), BOOSTS, BOOSTS[:1])),
        feedback=chance.choice((0.0, 0.4, 1.0)),
        depth=chance.choice((5, 10, 20)),
        keyword_scorer=chance.choice((KeywordScorer.BM25, KeywordScorer.TS_RANK)),
        recency_half_life=chance.choice((30, 365)),
        confidence_threshold=chance.choice((0.0, 0.3, 0.9)),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def _weights(chance: random.Random) -> Weights:
    kinds = (
        (1, 1, 1, 0, 0), (1, 0, 0, 0, 0), (0, 1, 1, 0, 0), (1, 1, 1, 1, 1), (2, 2, 1, 0, 1, 1, 1),
    )  # fmt: skip
    shares = [part * chance.choice((1, 1, 2, 3)) for part in chance.choice(kinds)]
    total = sum(shares)
    return Weights(*(share / total for share in shares))


def _candidate(chance: random.Random, chunk: int, document: int, embedding: bytes) -> Candidate:
    coarse = [0.0, 0.1, 0.2, 0.3, 0.5, 0.7]
    raw = {
        Signal.VECTOR: chance.choice([-0.1, *coarse, chance.random()]),
        Signal.KEYWORD: chance.choice([*coarse, 4.2, chance.random() * 9]),
        Signal.TITLE: chance.choice([0.0, 0.0, 0.5, 1.0]),
        Signal.RECENCY: chance.choice([0.97, 0.98, 0.999]),
        Signal.SYNONYM: chance.choice([0.0, 0.0, 1.5]),
        # Drawn from the chunk, so that the other numbers stay those of before.
        Signal.CONCEPT: (0.0, 0.4, 0.0, 1.0)[chunk % 4],
        Signal.WORDNET: (0.0, 2.5, 0.0)[chunk % 3],
    }
    if chance.random() < 0.1:
        raw.pop(chance.choice([Signal.VECTOR, Signal.SYNONYM]))
    match = IdentifierMatch(
        chance.choice(("a1312b", "a1312")), chance.choice((0.5, 1.0)), chance.randint(0, 2)
    )
    return Candidate(
        chunk,
        document,
        raw,
        identifier=match if chance.random() < 0.2 else None,
        boosts={boost_key(boost): 2 for boost in BOOSTS if chance.random() < 0.3},
        pin=document if document <= 2 and chance.random() < 0.2 else None,
        signature=chance.choice((None, -1, -2, 7, chance.getrandbits(62))),
        embedding=embedding if chance.random() < 0.95 and Signal.VECTOR in raw else None,
    )


def _places(chance: random.Random, candidate: Candidate, depth: int) -> dict[str, int]:
    finders = [*map(str, (Signal.VECTOR, Signal.KEYWORD, Signal.TITLE, Signal.SYNONYM))]
    finders += ["identifier"] * (candidate.identifier is not None)
    finders += ["pin"] * (candidate.pin is not None)
    chosen = chance.sample(finders, chance.randint(1, 2))
    return {finder: chance.randint(1, depth) for finder in chosen}
