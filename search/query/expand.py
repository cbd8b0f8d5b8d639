"""Q1: the synonyms of what a query says."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

Pin = TypeVar("Pin")

# Each brings as many rows as any term of the query; a guess that keeps a search quick.
MAX_EXPANSIONS = 20


@dataclass(frozen=True, slots=True)
class SynonymGroup:
    """Terms that stand for one another; `one_way`: only the first stands for the others."""

    terms: tuple[str, ...]
    one_way: bool = False


@dataclass(frozen=True, slots=True)
class Synonyms:
    """All groups, ready to be looked up: folded term -> what it stands for, and one pattern."""

    expansions: Mapping[str, tuple[str, ...]]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, groups: Iterable[SynonymGroup]) -> Synonyms | None:
        """The groups; None where there are none."""
        found: dict[str, dict[str, None]] = {}
        for group in groups:
            for term in group.terms[:1] if group.one_way else group.terms:
                others = (other for other in group.terms if fold_query(other) != fold_query(term))
                found.setdefault(fold_query(term), {}).update(dict.fromkeys(others))
        found.pop("", None)
        if not found:
            return None
        # The longest first, so that "forward kinematics" is not read as "forward".
        names = sorted(found, key=lambda name: (-len(name), name))
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
        return cls({name: tuple(others) for name, others in found.items()}, pattern)


def expansions(text: str, synonyms: Synonyms | None) -> tuple[str, ...]:
    """What the synonyms of the query's words and phrases say, each once, in their order."""
    if synonyms is None:
        return ()
    folded = fold_query(text)
    named = [match.group() for match in synonyms.pattern.finditer(folded)]
    found = dict.fromkeys(other for name in named for other in synonyms.expansions[name])
    return tuple(other for other in found if not _says(folded, other))[:MAX_EXPANSIONS]


@lru_cache(maxsize=4096)
def fold_query(text: str) -> str:
    """A query as it is compared with others: NFKC, without regard to case and spacing."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _says(folded: str, term: str) -> bool:
    """Whether the query says the term already."""
    return re.search(rf"(?<!\w){re.escape(fold_query(term))}(?!\w)", folded) is not None


def pins_for(text: str, pins: Mapping[str, Sequence[Pin]]) -> tuple[Pin, ...]:
    """What is pinned to just this query, in its order."""
    return tuple(pins.get(fold_query(text), ()))


def hidden_from(text: str, hides: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """The documents that are hidden from just this query or from every one."""
    if not hides:
        return frozenset()
    return hides.get("", frozenset()) | hides.get(fold_query(text), frozenset())
