"""Examples for the schema. A test holds each to the shape of a real answer."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

SEARCH: dict[str, Any] = {
    "search_id": "5b6c7f0e-5f0c-4a43-9d8e-0b6f6f1f2a33",
    "query": "30 CFR 75.1725",
    "profile": {"name": "default", "version": 2},
    "experiment": None,
    "query_class": "lookup",
    "rule": "an identifier alone",
    "confidence": 0.95,
    "answer_confidence": 0.95,
    "low_confidence": False,
    "second_try": None,
    "weights": {"vector": 0.3, "keyword": 0.6, "title": 0.1, "recency": 0.0, "synonym": 0.0},
    "forced": [],
    "degraded": [],
    "notes": [],
    "did_you_mean": "",
    "corrected_from": "",
    "grouped": True,
    "total": 1,
    "page": 1,
    "pages": 1,
    "page_size": 10,
    "timing_ms": {"embed": 0.0, "retrieve": 4.2, "rank": 0.1, "show": 1.7, "total": 7.4},
    "results": [
        {
            "rank": 1,
            "score": 0.61,
            "document": {
                "id": "0d9f6b5e-3a52-4a3b-9a53-5d3f1c1f7a10",
                "title": "Mine safety rules",
                "url": "https://kb.example.org/documents/0d9f6b5e-3a52-4a3b-9a53-5d3f1c1f7a10/"
                "?chunk=3",
                "file_name": "mine-safety-rules.md",
                "media_type": "text/markdown",
                "language": "en",
                "created": "2026-01-15T09:30:00Z",
            },
            "collection": {"slug": "samples", "name": "Samples"},
            "chunk": 3,
            "heading_path": ["Machinery", "Maintenance"],
            "page": None,
            "snippet": "Under <mark>30</mark> <mark>CFR</mark> <mark>75.1725</mark> machinery …",
            "text": "Under 30 CFR 75.1725 machinery shall be kept in safe condition.",
            "edited": False,
            "note": "",
            "contributions": {
                "vector": 0.0,
                "keyword": 0.6,
                "title": 0.01,
                "recency": 0.0,
                "synonym": 0.0,
            },
            "adjustments": [],
            "tier": "its text names 30 CFR 75.1725",
            "folded": [],
            "folded_count": 0,
            "team": "",
        }
    ],
}


def _product(signal: str, weight: float, strength: float) -> dict[str, Any]:
    return {
        "label": signal,
        "value": weight * strength,
        "operation": "product",
        "parts": [{"label": "weight", "value": weight}, {"label": "strength", "value": strength}],
    }


EXPLANATION: dict[str, Any] = {
    "score": 0.61,
    "tier": {"order": [0.0, -1.0, 2.0], "reason": "its text names 30 CFR 75.1725"},
    "contributions": [
        {"signal": "vector", "raw": None, "strength": 0.0, "weight": 0.3, "value": 0.0},
        {"signal": "keyword", "raw": 14.2, "strength": 1.0, "weight": 0.6, "value": 0.6},
        {"signal": "title", "raw": 0.1, "strength": 0.1, "weight": 0.1, "value": 0.01},
    ],
    "tree": {
        "label": "sum of the parts",
        "value": 0.61,
        "operation": "sum",
        "parts": [
            _product("vector", 0.3, 0.0),
            _product("keyword", 0.6, 1.0),
            _product("title", 0.1, 0.1),
        ],
    },
}

SEARCH_EXPLAINED: dict[str, Any] = {
    **SEARCH,
    "results": [{**SEARCH["results"][0], "explanation": EXPLANATION}],
    "terms": [{"lexeme": "75.1725", "chunks": 1, "idf": 7.1}],
}

SEARCH_EXAMPLES = [
    OpenApiExample("A lookup", value=SEARCH, response_only=True, status_codes=["200"]),
    OpenApiExample("Explained", value=SEARCH_EXPLAINED, response_only=True, status_codes=["200"]),
]

# Every error has this shape; the first that fits a status is shown with it.
ERRORS: dict[str, tuple[str, dict[str, Any]]] = {
    "400": (
        "The request is not valid.",
        {
            "code": "invalid",
            "message": "page: A valid integer is required.",
            "details": {"page": ["A valid integer is required."]},
        },
    ),
    "401": (
        "The request needs a user.",
        {
            "code": "not_authenticated",
            "message": "Sign in, or send a token in the header `Authorization: Token ...`.",
            "details": {},
        },
    ),
    "403": (
        "The user may not do this.",
        {
            "code": "permission_denied",
            "message": "You do not have permission to perform this action.",
            "details": {},
        },
    ),
    "404": (
        "There is no such thing, or the user may not see it.",
        {
            "code": "not_found",
            "message": "There is nothing at this address, or you may not see it.",
            "details": {},
        },
    ),
    "409": (
        "The document is not in the state that this needs.",
        {
            "code": "conflict",
            "message": "The document has not failed: there is nothing to retry.",
            "details": {},
        },
    ),
    "413": (
        "The file is too large.",
        {
            "code": "file_too_large",
            "message": "The file is larger than 200 MB. Split it, or raise MAX_UPLOAD_MB.",
            "details": {},
        },
    ),
    "429": (
        "Too many requests; the header Retry-After says when to come back.",
        {
            "code": "throttled",
            "message": "Too many requests. Try again in 12 s.",
            "details": {"wait_seconds": 12},
        },
    ),
    "503": (
        "Nothing can be searched until an administrator has acted.",
        {
            "code": "no_active_profile",
            "message": "No search profile is active. Publish one in the admin under Search "
            "profiles.",
            "details": {},
        },
    ),
}
