"""The score fields of concept-rag's results, for clients that were written for them.

They are read from the explanation of the score: nothing is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from search.domain import Explanation, Signal

CONCEPT_RAG = "concept-rag"


def raw_score(explanation: Explanation, signal: Signal) -> float:
    """A signal's raw score; 0 if it did not run or cannot score the passage."""
    found = (part.raw for part in explanation.contributions if part.signal is signal)
    return next((raw for raw in found if raw is not None), 0.0)


_SCORES: Mapping[str, tuple[Callable[[Explanation], float], str]] = MappingProxyType(
    {
        "_vector_score": (lambda e: raw_score(e, Signal.VECTOR), "The cosine, unscaled."),
        "_bm25_score": (lambda e: raw_score(e, Signal.KEYWORD), "The keyword score, unscaled."),
        "_title_score": (lambda e: raw_score(e, Signal.TITLE), "The title score, unscaled."),
        "_hybrid_score": (lambda e: e.score, "The score."),
        "_distance": (lambda e: 1 - e.score, "1 - score: below 0 for a score above 1."),
    }
)


@extend_schema_field(OpenApiTypes.DOUBLE)
class LegacyScoreField(serializers.Field[Explanation, Any, float, Explanation]):
    """One of concept-rag's fields, from a result's explanation."""

    def __init__(self, name: str) -> None:
        self._score, about = _SCORES[name]
        about = f"With legacy={CONCEPT_RAG}. {about}"
        super().__init__(source="hit.explanation", required=False, help_text=about)

    def to_representation(self, value: Explanation) -> float:
        return self._score(value)


def legacy_fields() -> dict[str, LegacyScoreField]:
    """concept-rag's fields by name, for the serializer of a result."""
    return {name: LegacyScoreField(name) for name in _SCORES}


def wants_legacy(asked: str, profile: str) -> bool:
    """True on request, and under every concept-rag profile."""
    return CONCEPT_RAG in (asked, profile.partition(":")[0])
