"""Synonyms: groups of terms, and the expansions of a query by them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from search.query.query_key import fold_query

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


def _says(folded: str, term: str) -> bool:
    """Whether the query already contains the term."""
    return re.search(rf"(?<!\w){re.escape(fold_query(term))}(?!\w)", folded) is not None
