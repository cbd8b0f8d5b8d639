"""The presets of the five seed systems (docs/presets.md); all presets in installation order."""

from __future__ import annotations

from dataclasses import replace

from search.domain import (
    QUOTES_AND_CODES,
    Boost,
    Classifier,
    Fusion,
    KeywordScorer,
    Normaliser,
    Profile,
    QueryClass,
    TitleScorer,
    Weights,
)
from search.presets.default import BASELINES, DEFAULT, Preset, always, scales

# IndexFoundry: a fixed mix, and the alternatives of its decision record.
#
# Depth: the seed retrieves twice (as shipped, three times) the page size. Ours does not depend on
# the page size; it is that of a page of 10.

_INDEXFOUNDRY = Profile(
    name="indexfoundry",
    version=1,
    weights=always(Weights(0.7, 0.3, 0)),
    classifier=Classifier.NONE,
    bypass=r"^[A-Z]\d+$",
    normalisers=scales(keyword=Normaliser.NONE),
    own_candidates_only=True,
    depth=20,
    keyword_scorer=KeywordScorer.OVERLAP,
)
_INDEXFOUNDRY_VARIANT = replace(_INDEXFOUNDRY, bypass="")

INDEXFOUNDRY = (
    Preset(
        _INDEXFOUNDRY,
        "IndexFoundry's fixed mix: 70% cosine, 30% share of the words; a bare code goes to the "
        "keywords alone.",
    ),
    Preset(
        replace(
            _INDEXFOUNDRY_VARIANT,
            name="indexfoundry:adaptive",
            classifier=Classifier.SPECIFICITY,
            weights=always(
                Weights(0.7, 0.3, 0), lookup=Weights(0.3, 0.7, 0), general=Weights(0.5, 0.5, 0)
            ),
        ),
        "IndexFoundry's option B: the larger the share of codes, the more weight for the keywords.",
    ),
    Preset(
        replace(
            _INDEXFOUNDRY_VARIANT,
            name="indexfoundry:anchor",
            boosts=(Boost("anchor", 1.5, anchor=QUOTES_AND_CODES),),
        ),
        "IndexFoundry's option C: its fixed mix, times 1.5 for each code that a passage contains.",
    ),
    Preset(
        replace(
            _INDEXFOUNDRY_VARIANT,
            name="indexfoundry:rrf",
            weights=always(Weights(0.5, 0.5, 0)),
            fusion=Fusion.RRF,
        ),
        "IndexFoundry's predecessor: ranks by cosine and by words, fused half and half.",
    ),
    Preset(
        replace(
            _INDEXFOUNDRY_VARIANT,
            name="indexfoundry:shipped",
            classifier=Classifier.ANCHORS,
            # For callers that name the class; the classifier otherwise weighs each query itself.
            weights=always(Weights(0.5, 0.5, 0), lookup=Weights(0.3, 0.7, 0)),
            normalisers=scales(vector=Normaliser.COSINE, keyword=Normaliser.NONE),
            boosts=(  # .15; together .4 before . : or )
                Boost("anchor", 0.15, multiply=False, anchor=QUOTES_AND_CODES),
                Boost(
                    "anchor as a label",
                    0.25,
                    multiply=False,
                    anchor=QUOTES_AND_CODES,
                    pattern=r"{anchor}[.:)]",
                ),
            ),
            depth=30,
        ),
        "IndexFoundry as shipped: weights by the codes and length of each question, plus a term "
        "for each code that a passage contains.",
    ),
)


# concept-rag: cosine, BM25 and title, summed without scaling.
#
# Depth: the seed retrieves three times the page size, from the vector list only, and so misses
# titles that the vectors miss. Ours retrieves candidates by every signal.

_CONCEPT_RAG = Profile(
    name="concept-rag",
    version=2,  # version 1 had BM25 with document frequencies, and the shipped rules
    weights=always(Weights(0.4, 0.3, 0.3)),
    classifier=Classifier.NONE,
    normalisers=scales(keyword=Normaliser.NONE),
    depth=30,
    keyword_scorer=KeywordScorer.BM25_FIXED,
    title_scorer=TitleScorer.ONCE,
)

# Its later versions score each signal between 0 and 1: BM25 over its maximum, the share of the
# question in the title. The candidates beyond a gap of the scores, which they cut off, stay.
_FIVE = replace(
    _CONCEPT_RAG,
    name="concept-rag:five",
    version=1,
    weights=always(Weights(0.25, 0.25, 0.20, concept=0.20, wordnet=0.10)),
    normalisers=scales(),
    keyword_scorer=KeywordScorer.BM25,
    title_scorer=TitleScorer.COVERAGE,
)


def _successor(name: str, weights: Weights, cap: float) -> Preset:
    """A later version: WordNet's weight depends on the question, up to `cap`."""
    return Preset(
        replace(_FIVE, name=f"concept-rag:{name}", weights=always(weights), wordnet_cap=cap),
        f"concept-rag's five signals for its {name} search; WordNet weighs {cap:.0%} at most.",
    )


CONCEPT_RAG = (
    Preset(
        _CONCEPT_RAG,
        "concept-rag's signals, unscaled: .4 cosine, .3 BM25, .3 title (10 for a match).",
    ),
    Preset(
        replace(
            _CONCEPT_RAG,
            name="concept-rag:titles",
            version=1,
            weights=always(Weights(0.3, 0.2, 0.5)),
        ),
        "concept-rag for searches by title: half the weight is on the title.",
    ),
    Preset(
        replace(
            _CONCEPT_RAG,
            name="concept-rag:semantics",
            version=1,
            weights=always(Weights(0.6, 0.2, 0.2)),
        ),
        "concept-rag for searches by meaning: .6 of the weight is on the cosine.",
    ),
    Preset(
        replace(_CONCEPT_RAG, name="concept-rag:strict", version=1, vector_candidates_only=True),
        "concept-rag as written: only the cosine finds passages, the other signals score them.",
    ),
    Preset(_FIVE, "concept-rag's five signals at fixed weights, each between 0 and 1."),
    _successor("catalog", Weights(0.30, 0.25, 0.20, concept=0.15, wordnet=0.10), 0.25),
    _successor("chunk", Weights(0.35, 0.30, 0, concept=0.20, wordnet=0.15), 0.30),
    _successor("concept", Weights(0.30, 0.20, 0.40, concept=0, wordnet=0.10), 0.20),
)


# The textbook chatbot: 70/30, and the mixtures that its decision record compares with it.

_TEXTBOOK = Profile(
    name="textbook",
    version=2,  # version 1 scored every candidate on every signal
    weights=always(Weights(0.7, 0.3, 0)),
    classifier=Classifier.NONE,
    normalisers=scales(),  # the raw cosine, BM25 over its maximum
    own_candidates_only=True,  # a missing score counts 0
    depth=20,
)


def _mixture(vector: int, keyword: int) -> Preset:
    return Preset(
        replace(
            _TEXTBOOK,
            name=f"textbook:{vector}/{keyword}",
            version=1,
            weights=always(Weights(vector / 100, keyword / 100, 0)),
        ),
        f"The textbook chatbot's mix at {vector}% cosine and {keyword}% BM25.",
    )


TEXTBOOK = (
    Preset(_TEXTBOOK, "The textbook chatbot's fixed mix: 70% cosine, 30% BM25 over its maximum."),
    Preset(
        replace(
            _TEXTBOOK,
            name="textbook:rrf",
            version=1,
            weights=always(Weights(0.5, 0.5, 0)),
            fusion=Fusion.RRF,
            depth=10,
        ),
        "The textbook chatbot's other choice: ranks by cosine and by BM25, fused half and half.",
    ),
    _mixture(100, 0),
    _mixture(0, 100),
    _mixture(50, 50),
    _mixture(60, 40),
    _mixture(80, 20),
    Preset(
        replace(
            _TEXTBOOK,
            name="textbook:adaptive",
            version=1,
            classifier=Classifier.DEFINITIONS,
            weights=always(
                Weights(0.7, 0.3, 0), lookup=Weights(0.2, 0.8, 0), concept=Weights(0.8, 0.2, 0)
            ),
        ),
        "The textbook chatbot's rejected alternative: definitions by keywords, explanations by "
        "meaning.",
    ),
)


# KB Labs Mind: ranks fused under the weights of the question's class.

_MIND = Profile(
    name="mind",
    version=1,
    weights=always(
        Weights(0.6, 0.4, 0),
        lookup=Weights(0.3, 0.7, 0),
        concept=Weights(0.8, 0.2, 0),
        code=Weights(0.6, 0.4, 0),
        debug=Weights(0.5, 0.5, 0),
        comparison=Weights(0.8, 0.2, 0),  # a concept to Mind's classifier
    ),
    classifier=Classifier.MIND,
    fusion=Fusion.RRF,
    normalisers=scales(),
    both_factor=1.2,
    both_first=True,
    own_candidates_only=True,
    depth=20,  # twice the limit, for a page of 10
)

MIND = (
    Preset(
        _MIND,
        "Mind's ranks by cosine and by BM25, fused under the weights of the question's class; "
        "candidates found by both rank first.",
    ),
    Preset(
        replace(
            _MIND,
            name="mind:v4",
            weights={**_MIND.weights, QueryClass.DEBUG: Weights(0.4, 0.6, 0)},
            # Its limits are 120 for lookups, 80 for failures, 15 and 12 for the rest; a profile
            # has one depth.
            depth=120,
        ),
        "Mind of February 2026: more weight on the keywords of failures, and deep lists; without "
        "its scores for features, freshness and conflicts.",
    ),
)


# The Physical AI chatbot: a weighted sum under the weights of the question's class.
#
# Its record calls the keyword signal "BM25 (ts_rank)" in the range 0-1, which holds for neither.
# Ours is BM25 over its maximum, which lies in that range.

_PHYSICAL_AI = Profile(
    name="physical-ai",
    version=1,
    weights=always(
        Weights(0.7, 0.3, 0),  # comparison has no weights of its own
        concept=Weights(0.8, 0.2, 0),
        code=Weights(0.5, 0.5, 0),
        debug=Weights(0.6, 0.4, 0),
    ),
    classifier=Classifier.PHYSICAL_AI,
    normalisers=scales(vector=Normaliser.MAX),
    own_candidates_only=True,
    depth=50,
)


def _for_kinds(query_class: QueryClass, amount: float, *kinds: str) -> Boost:
    return Boost(query_class.value, amount, multiply=False, kinds=kinds, query_class=query_class)


PHYSICAL_AI = (
    Preset(
        _PHYSICAL_AI,
        "The Physical AI chatbot's weighted sum: cosine and BM25, each over its maximum, under the "
        "weights of the question's class.",
    ),
    Preset(
        replace(
            _PHYSICAL_AI,
            name="physical-ai:70/30",
            weights=always(Weights(0.7, 0.3, 0)),
            classifier=Classifier.NONE,
        ),
        "The Physical AI chatbot's sum with its base weights for every question: what its classes "
        "are measured against.",
    ),
    Preset(
        replace(
            _PHYSICAL_AI,
            name="physical-ai:shipped",
            version=2,  # version 1 had no boost for questions that no phrase matches
            # Conceptual is its default class: its weights and its boost hold for general questions.
            weights={**_PHYSICAL_AI.weights, QueryClass.GENERAL: Weights(0.8, 0.2, 0)},
            normalisers=scales(vector=Normaliser.MAX, keyword=Normaliser.NONE),
            keyword_scorer=KeywordScorer.TS_RANK,
            # Our parsers distinguish only code among its kinds of chunks.
            boosts=(
                _for_kinds(QueryClass.CODE, 0.15, "code", "mixed"),
                _for_kinds(QueryClass.CONCEPT, 0.10, "theoretical"),
                _for_kinds(QueryClass.GENERAL, 0.10, "theoretical"),
                _for_kinds(QueryClass.COMPARISON, 0.10, "mixed"),
                _for_kinds(QueryClass.DEBUG, 0.12, "code", "mixed"),
            ),
        ),
        "The Physical AI chatbot as shipped: ts_rank without scaling, and a term for passages of "
        "code; without its wider phrases.",
    ),
)


SEEDS = (*INDEXFOUNDRY, *CONCEPT_RAG, *TEXTBOOK, *MIND, *PHYSICAL_AI)
PRESETS = (DEFAULT, *BASELINES, *SEEDS)
