"""Q2: predicates of rules, for tests beyond patterns: a query's identifiers and shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from search.domain import Query

SHORT_WORDS = 2

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_NAME = re.compile(r"(?:[^\W\d_]*[A-ZÄÖÜÀ-Þ][^\W_]*|[^\W_]*\d[^\W_]*)")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A test of a query, with a description for administrators."""

    description: str
    test: Callable[[Query], bool]


def is_identifier(query: Query) -> bool:
    return query.is_identifier


def names_identifier(query: Query) -> bool:
    """Whether it has a strict identifier, as in texts: “take 5” has none, though D 5 is one."""
    return any(not identifier.loose for identifier in query.identifiers)


def is_name(query: Query) -> bool:
    """Whether it is a single word with a capital or a digit: Aboleth, SLAM, v2; not pumps."""
    words = _WORD.findall(query.text)
    return len(words) == 1 and _NAME.fullmatch(words[0]) is not None


def is_short(query: Query) -> bool:
    return 1 <= len(_WORD.findall(query.text)) <= SHORT_WORDS


PREDICATES: Mapping[str, Predicate] = MappingProxyType(
    {
        "is_identifier": Predicate("The query is one identifier", is_identifier),
        "names_identifier": Predicate("The query names an identifier", names_identifier),
        "is_name": Predicate("The query is one word written as a name", is_name),
        "is_short": Predicate(f"The query has at most {SHORT_WORDS} words", is_short),
    }
)
