"""concept-rag (S2): cosine, BM25 and title, added as they are.

Depth: the seed takes three times the results asked for (F2-01), and only from the vector list; a
title that the vectors miss is lost there (D13). Ours are found by any signal.
"""

from __future__ import annotations

from dataclasses import replace

from search.domain import Classifier, KeywordScorer, Normaliser, Profile, TitleScorer, Weights
from search.presets.preset import Preset, always, scales

_MIX = Profile(
    name="concept-rag",
    version=2,  # version 1 had BM25 with document frequencies, and the shipped rules
    weights=always(Weights(0.4, 0.3, 0.3)),  # S2-08
    classifier=Classifier.NONE,
    normalisers=scales(keyword=Normaliser.NONE),  # S2-14
    depth=30,
    keyword_scorer=KeywordScorer.BM25_FIXED,
    title_scorer=TitleScorer.ONCE,  # S2-11
)

CONCEPT_RAG = (
    Preset(_MIX, "concept-rag's signals, unscaled: .4 cosine, .3 BM25, .3 title (10 for a match)."),
    Preset(
        replace(_MIX, name="concept-rag:titles", version=1, weights=always(Weights(0.3, 0.2, 0.5))),
        "concept-rag for those who search by title: half the weight is the title's.",  # S2-17
    ),
    Preset(
        replace(
            _MIX, name="concept-rag:semantics", version=1, weights=always(Weights(0.6, 0.2, 0.2))
        ),
        "concept-rag for those who search by meaning: .6 of the weight is the cosine's.",  # S2-18
    ),
)
