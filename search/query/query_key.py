"""A query folded for comparison, its key, and what administrators attach to exactly this query."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

MAX_KEY = 500  # short enough for an index in any script
# Longer texts are seldom asked twice, and thousands of them would fill the memory.
_CACHED_CHARS = 500


def fold_query(text: str) -> str:
    """A query normalised for comparison: NFKC, case-folded, single spaces."""
    return _folded(text) if len(text) <= _CACHED_CHARS else _folded.__wrapped__(text)


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def query_key(text: str) -> str:
    """The folded query as tables index it; its beginning and a hash if longer than MAX_KEY."""
    folded = fold_query(text)
    if len(folded) <= MAX_KEY:
        return folded
    digest = hashlib.sha256(folded.encode("utf-8", "replace")).hexdigest()
    return f"{folded[: MAX_KEY - len(digest) - 1]} {digest}"


def hidden_from(text: str, hides: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """The documents hidden from exactly this query or from every query."""
    if not hides:
        return frozenset()
    return hides.get("", frozenset()) | hides.get(query_key(text), frozenset())
