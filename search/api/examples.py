"""Examples for the schema, made from the serializers: a new field needs no change here.

A test checks that each has the shape of a real response.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers

from search.api.answer_forms import AnswerSerializer
from search.api.responses import SearchResponseSerializer
from search.domain import Signal, Weights

_ID = "0d9f6b5e-3a52-4a3b-9a53-5d3f1c1f7a10"
_SHARES = {Signal.KEYWORD.value: 0.6, Signal.TITLE.value: 0.01}

# Values of fields whose type says too little.
_VALUES: dict[str, Any] = {
    "search_id": "5b6c7f0e-5f0c-4a43-9d8e-0b6f6f1f2a33",
    "id": _ID,
    "url": f"https://kb.example.org/documents/{_ID}/?chunk=3",
    "query": "30 CFR 75.1725",
    "query_class": "lookup",
    "rule": "an identifier alone",
    "signal": "keyword",
    "raw": None,
    "weights": Weights(vector=0.3, keyword=0.6, title=0.1).as_dict(),
    "contributions": {signal.value: _SHARES.get(signal.value, 0.0) for signal in Signal},
    "timing_ms": {},
    "file_name": "mine-safety-rules.md",
    "media_type": "text/markdown",
    "language": "en",
    "created": "2026-01-15T09:30:00Z",
    "metadata": {"department": "Safety", "year": 2026},
    "slug": "samples",
    "heading_path": ["Machinery", "Maintenance"],
    "snippet": "Under <mark>30</mark> <mark>CFR</mark> <mark>75.1725</mark> machinery …",
    "text": "Under 30 CFR 75.1725 machinery shall be kept in safe condition.",
    "tier": "its text names 30 CFR 75.1725",
    "reason": "its text names 30 CFR 75.1725",
    "order": [0.0, -1.0, 2.0],
    "tree": {
        "label": "sum of the parts",
        "value": 0.6,
        "operation": "sum",
        "parts": [
            {
                "label": "keyword",
                "value": 0.6,
                "operation": "product",
                "parts": [{"label": "weight", "value": 0.6}, {"label": "strength", "value": 1.0}],
            }
        ],
    },
    "lexeme": "75.1725",
    "team": "",
    "note": "",
    "unknown_words": [],
    "did_you_mean": "",
    "corrected_from": "",
    **{name: [] for name in ("forced", "degraded", "notes", "adjustments", "folded")},
    "experiment": None,
}


def example_of(serializer: serializers.Serializer[Any]) -> dict[str, Any]:
    """The serializer's output, with realistic values."""
    return {name: _value(name, field) for name, field in serializer.fields.items()}


def _value(name: str, field: Any) -> Any:
    # A serializer's own fields come before the value of a field of the same name elsewhere.
    fits = not isinstance(field, serializers.BaseSerializer) or isinstance(
        _VALUES.get(name), dict | None
    )
    if name in _VALUES and fits and not isinstance(field, serializers.ListSerializer):
        return _VALUES[name]
    match field:
        case serializers.ListSerializer():
            return [example_of(field.child)]  # type: ignore[arg-type]
        case serializers.Serializer():
            return example_of(field)
        case serializers.BooleanField():
            return False
        case serializers.IntegerField():
            return None if field.allow_null else 1
        case serializers.FloatField():
            return 0.95
        case _:
            return name.replace("_", " ").title()


def _search(*, explain: bool) -> dict[str, Any]:
    return example_of(SearchResponseSerializer(context={"explain": explain, "legacy": False}))


SEARCH, SEARCH_EXPLAINED = _search(explain=False), _search(explain=True)
SEARCH_EXAMPLES = [
    OpenApiExample("A lookup", value=SEARCH, response_only=True, status_codes=["200"]),
    OpenApiExample("Explained", value=SEARCH_EXPLAINED, response_only=True, status_codes=["200"]),
]

_QUOTED = "Under 30 CFR 75.1725 machinery shall be kept in safe condition."


def _answer() -> dict[str, Any]:
    answer = example_of(AnswerSerializer())
    source = {**answer["sources"][0], "cited": True, "start": 0, "end": len(_QUOTED)}
    citation = {"source": 1, "start": 0, "end": len(_QUOTED)}
    sentence = {
        "start": 0,
        "end": len(_QUOTED) + 4,
        "text": _QUOTED,
        "citations": [citation],
        "verdict": "supported",
        "reasons": [],
        "credit": 1.0,
    }
    return answer | {
        **dict.fromkeys(("question", "searched_for"), "What must machinery be kept in?"),
        "asked_mode": "auto",
        "mode": "instant",
        "state": "done",
        "text": f"{_QUOTED} [1]",
        "sources": [source],
        "sentences": [sentence],
        "supported": 1.0,
        "model": "",
        "steps": [answer["steps"][0] | {"name": "search"}],
        "thread": None,
        "error": "",
    }


ANSWER = _answer()
ANSWER_EXAMPLES = [
    OpenApiExample("Quotes", value=ANSWER, response_only=True, media_type="application/json")
]
