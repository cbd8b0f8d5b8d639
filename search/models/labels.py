"""The choices of the models, with the words that administrators see."""

from __future__ import annotations

from typing import Any

from search import domain


def choices(enum: type[Any], **labels: str) -> list[tuple[str, str]]:
    return [(member.value, labels.get(member.value, member.value)) for member in enum]


FUSIONS = choices(
    domain.Fusion,
    linear="Weighted sum of strengths",
    rrf="Reciprocal rank fusion (ranks only)",
    combmnz="Weighted sum times the signals that found it (CombMNZ)",
    max="Largest weighted strength",
)
NORMALISERS = choices(
    domain.Normaliser,
    none="As it is",
    max="Share of the best",
    minmax="Between worst and best",
    zscore="Share below (z-score)",
    reciprocal_rank="Reciprocal rank",
    cosine="(cosine + 1) / 2",
)
KEYWORD_SCORERS = choices(
    domain.KeywordScorer,
    bm25="BM25",
    bm25_fixed="BM25 without document frequencies, by parts of words",
    ts_rank="Postgres ts_rank",
    ts_rank_cd="Postgres ts_rank_cd",
    overlap="Matched terms / query terms",
)
TITLE_SCORERS = choices(
    domain.TitleScorer,
    coverage="Share of the query's weight that the title covers",
    once="10 when any term is in the title",
    per_term="10 for each term in the title",
)
QUERY_CLASSES = choices(
    domain.QueryClass,
    lookup="Lookup: a name or an identifier",
    concept="Concept: what it is, how it works",
    code="Code: how to write it",
    debug="Debug: an error, something not working",
    comparison="Comparison: this or that",
    general="General: everything else",
)
CLASSIFIERS = choices(
    domain.Classifier,
    rules="The rules under Classifier rules",
    none="None: every question is general",
    specificity="By the share of identifiers among the words (IndexFoundry's option B)",
    anchors="By anchors and length, weighing each question by itself (IndexFoundry)",
    definitions="Definitions and explanations apart (textbook)",
    mind="Mind's patterns",
    **{"physical-ai": "Physical AI's patterns"},
)
