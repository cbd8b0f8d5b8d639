"""Q1: the synonyms, pins and hides of a query."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

Pin = TypeVar("Pin")

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
        found: dict[str, dict[str, None]] = {}
        for group in groups:
            for term in group.terms[:1] if group.one_way else group.terms:
                others = (other for other in group.terms if fold_query(other) != fold_query(term))
                found.setdefault(fold_query(term), {}).update(dict.fromkeys(others))
        found.pop("", None)
        if not found:
            return None
        # The longest first, so that "forward kinematics" does not match as "forward".
        names = sorted(found, key=lambda name: (-len(name), name))
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
        return cls({name: tuple(others) for name, others in found.items()}, pattern)


def expansions(text: str, synonyms: Synonyms | None) -> tuple[str, ...]:
    """The synonyms of the query's words and phrases, each once, in order."""
    if synonyms is None:
        return ()
    folded = fold_query(text)
    named = [match.group() for match in synonyms.pattern.finditer(folded)]
    found = dict.fromkeys(other for name in named for other in synonyms.expansions[name])
    return tuple(other for other in found if not _says(folded, other))[:MAX_EXPANSIONS]


@lru_cache(maxsize=4096)
def fold_query(text: str) -> str:
    """A query normalised for comparison: NFKC, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _says(folded: str, term: str) -> bool:
    """Whether the query already contains the term."""
    return re.search(rf"(?<!\w){re.escape(fold_query(term))}(?!\w)", folded) is not None


def pins_for(text: str, pins: Mapping[str, Sequence[Pin]]) -> tuple[Pin, ...]:
    """The pins of exactly this query, in order."""
    return tuple(pins.get(fold_query(text), ()))


def hidden_from(text: str, hides: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """The documents hidden from exactly this query or from every query."""
    if not hides:
        return frozenset()
    return hides.get("", frozenset()) | hides.get(fold_query(text), frozenset())
