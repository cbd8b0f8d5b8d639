"""The key of a query, and what administrators attach to exactly this query: pins and hides."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

from search.query.synonyms import fold_query

PinT = TypeVar("PinT")


MAX_KEY = 500  # short enough for an index in any script


def query_key(text: str) -> str:
    """The folded query as tables index it; its beginning and a hash if longer than MAX_KEY."""
    folded = fold_query(text)
    if len(folded) <= MAX_KEY:
        return folded
    digest = hashlib.sha256(folded.encode("utf-8", "replace")).hexdigest()
    return f"{folded[: MAX_KEY - len(digest) - 1]} {digest}"


def pins_for(text: str, pins: Mapping[str, Sequence[PinT]]) -> tuple[PinT, ...]:
    """The pins of exactly this query, in order."""
    return tuple(pins.get(query_key(text), ()))


def hidden_from(text: str, hides: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """The documents hidden from exactly this query or from every query."""
    if not hides:
        return frozenset()
    return hides.get("", frozenset()) | hides.get(query_key(text), frozenset())
