"""The textbook chatbot (S3): 70/30, and the mixtures that its decision record compares with it."""

from __future__ import annotations

from dataclasses import replace

from search.domain import Classifier, Fusion, Profile, Weights
from search.presets.preset import Preset, always, scales

_MIX = Profile(
    name="textbook",
    version=2,  # version 1 scored every candidate on every signal
    weights=always(Weights(0.7, 0.3, 0)),  # S3-09
    classifier=Classifier.NONE,
    normalisers=scales(),  # S3-36: the raw cosine, BM25 over its maximum
    own_candidates_only=True,  # S3-36: missing counts 0
    depth=20,  # S3-35
)


def _mixture(vector: int, keyword: int) -> Preset:
    return Preset(
        replace(
            _MIX,
            name=f"textbook:{vector}/{keyword}",
            version=1,
            weights=always(Weights(vector / 100, keyword / 100, 0)),
        ),
        f"The textbook chatbot's mix at {vector}% cosine and {keyword}% BM25.",
    )


TEXTBOOK = (
    Preset(_MIX, "The textbook chatbot's fixed mix: 70% cosine, 30% BM25 over its maximum."),
    Preset(
        replace(
            _MIX,
            name="textbook:rrf",
            version=1,
            weights=always(Weights(0.5, 0.5, 0)),
            fusion=Fusion.RRF,
            depth=10,  # S3-34
        ),
        "The textbook chatbot's other choice: ranks by cosine and by BM25, fused half and half.",
    ),
    _mixture(100, 0),  # S3-22
    _mixture(0, 100),  # S3-23
    _mixture(50, 50),  # S3-24
    _mixture(60, 40),  # S3-32
    _mixture(80, 20),
    Preset(
        replace(
            _MIX,
            name="textbook:adaptive",
            version=1,
            classifier=Classifier.DEFINITIONS,
            weights=always(  # S3-25
                Weights(0.7, 0.3, 0), lookup=Weights(0.2, 0.8, 0), concept=Weights(0.8, 0.2, 0)
            ),
        ),
        "The textbook chatbot's rejected alternative: definitions by keywords, explanations by "
        "meaning.",
    ),
)
