"""Additions to a query: synonyms, pins and hides."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TypeVar

PinT = TypeVar("PinT")

# Each adds as many rows as any term of the query; a guess that keeps a search fast.
MAX_EXPANSIONS = 20


@dataclass(frozen=True, slots=True)
class SynonymGroup:
    """Terms that are synonyms; `one_way`: only the first is expanded to the others."""

    terms: tuple[str, ...]
    one_way: bool = False


@dataclass(frozen=True, slots=True)
class Synonyms:
    """All groups, indexed: folded term -> its synonyms, and one pattern that matches the terms."""

    expansions: Mapping[str, tuple[str, ...]]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, groups: Iterable[SynonymGroup]) -> Synonyms | None:
        """The index of the groups; None without any."""
        expanded: dict[str, dict[str, None]] = {}
        for group in groups:
            for term in group.terms[:1] if group.one_way else group.terms:
                others = (other for other in group.terms if fold_query(other) != fold_query(term))
                expanded.setdefault(fold_query(term), {}).update(dict.fromkeys(others))
        expanded.pop("", None)
        if not expanded:
            return None
        # The longest first, so that "forward kinematics" does not match as "forward".
        names = sorted(expanded, key=lambda name: (-len(name), name))
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
        return cls({name: tuple(others) for name, others in expanded.items()}, pattern)


def expansions(text: str, synonyms: Synonyms | None) -> tuple[str, ...]:
    """The synonyms of the query's words and phrases, each once, in order."""
    if synonyms is None:
        return ()
    folded = fold_query(text)
    words = [match.group() for match in synonyms.pattern.finditer(folded)]
    added = dict.fromkeys(other for name in words for other in synonyms.expansions[name])
    return tuple(islice((other for other in added if not _says(folded, other)), MAX_EXPANSIONS))


# Longer texts are seldom asked twice, and thousands of them would fill the memory.
_CACHED_CHARS = 500


def fold_query(text: str) -> str:
    """A query normalised for comparison: NFKC, case-folded, single spaces."""
    return _folded(text) if len(text) <= _CACHED_CHARS else _folded.__wrapped__(text)


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


MAX_KEY = 500  # short enough for an index in any script


def query_key(text: str) -> str:
    """The folded query as tables index it; its beginning and a hash if longer than MAX_KEY."""
    folded = fold_query(text)
    if len(folded) <= MAX_KEY:
        return folded
    digest = hashlib.sha256(folded.encode("utf-8", "replace")).hexdigest()
    return f"{folded[: MAX_KEY - len(digest) - 1]} {digest}"


def _says(folded: str, term: str) -> bool:
    """Whether the query already contains the term."""
    return re.search(rf"(?<!\w){re.escape(fold_query(term))}(?!\w)", folded) is not None


def pins_for(text: str, pins: Mapping[str, Sequence[PinT]]) -> tuple[PinT, ...]:
    """The pins of exactly this query, in order."""
    return tuple(pins.get(query_key(text), ()))


def hidden_from(text: str, hides: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """The documents hidden from exactly this query or from every query."""
    if not hides:
        return frozenset()
    return hides.get("", frozenset()) | hides.get(query_key(text), frozenset())
