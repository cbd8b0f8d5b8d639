"""Boosts: factors and terms applied to the score for a chunk's text or kind.

The database counts the matches in chunks (`retrieval.boosts`); this module finds the
anchors in a query, and does the arithmetic.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import lru_cache

import numpy as np

from ingestion.identifiers import UnsafeExpression, expression
from search.domain import (
    QUOTES_AND_CODES,
    Boost,
    Candidate,
    Combination,
    Floats,
    Integers,
    Leaf,
    Node,
    Operation,
    QueryClass,
)

BOOST = "boost: "
"""The beginning of a boost's label in an explanation."""
MAX_BOOSTS = 20
# A question names few codes; a pasted page may have many that are irrelevant.
MAX_ANCHORS = 10
MAX_AMOUNT = 100.0
MAX_CHARS = 1_000_000
# Looks around, which RE2 cannot; shipped, and quadratic at worst.
_QUOTES_AND_CODES = re.compile(QUOTES_AND_CODES)
_DEFAULTS = {each.name: each.default for each in fields(Boost)}


def boosted(
    scores: Floats,
    counts: Mapping[str, Integers],
    classes: Sequence[QueryClass],
    boosts: Sequence[Boost],
) -> Floats:
    """The scores after all boosts, in their order; a row a query, `classes` are the queries'.

    `counts` is how often each boost applies, by `boost_key`.
    """
    for boost in boosts:
        if (counted := counts.get(boost_key(boost))) is None:
            continue
        matches = np.array([boost.query_class in (None, each) for each in classes], np.bool_)
        times = np.where(matches[:, None], counted, 0)
        if boost.multiply:
            scores = scores * boost.amount ** times.astype(np.float64)
        else:
            scores = scores + boost.amount * times
    return scores


def with_boosts(
    score: Node, candidate: Candidate, query_class: QueryClass, boosts: Sequence[Boost]
) -> Node:
    """One candidate's score after all boosts as a tree; the score itself if none applies."""
    if not candidate.boosts:
        return score
    for boost in applicable(boosts, query_class):
        if times := candidate.boosts.get(boost_key(boost), 0):
            leaves = (Leaf(f"{BOOST}{boost.name}", boost.amount),) * times
            operation = Operation.PRODUCT if boost.multiply else Operation.SUM
            score = Combination("boosted", operation, (score, *leaves))
    return score


@lru_cache(maxsize=256)
def boost_key(boost: Boost) -> str:
    """A key for the boost's search criteria, independent of its name and amount."""
    criteria: list[object] = [boost.anchor, boost.pattern, sorted(boost.kinds)]
    # Only where it is set: keys of boosts without it are stored in pools.
    criteria += [boost.shorter_than] if boost.shorter_than else []
    criteria_json = json.dumps(criteria)
    return hashlib.sha256(criteria_json.encode()).hexdigest()[:16]


def by_criteria(boosts: Sequence[Boost]) -> tuple[Boost, ...]:
    """The distinct boosts, named by `boost_key`, for retrieval to count."""
    by_name = {boost_key(boost): boost for boost in boosts}
    return tuple(replace(boost, name=name, query_class=None) for name, boost in by_name.items())


def applicable(boosts: Sequence[Boost], query_class: QueryClass) -> tuple[Boost, ...]:
    """The boosts that apply to a query of this class, in their order."""
    return tuple(boost for boost in boosts if boost.query_class in (None, query_class))


def anchors(boost: Boost, text: str) -> tuple[str, ...]:
    """The boost's anchors in the query, each once, in order."""
    if not boost.anchor:
        return ()
    if boost.anchor == QUOTES_AND_CODES:
        matches = _QUOTES_AND_CODES.finditer(text)
    elif anchor_problem(boost):
        return ()  # from before RE2
    else:
        matches = expression(boost.anchor).finditer(text)
    texts = (match.group(1) if match.re.groups else match.group() for match in matches)
    return tuple(dict.fromkeys(anchor for anchor in texts if anchor))[:MAX_ANCHORS]


def anchor_problem(boost: Boost) -> str:
    """A sentence on why the boost's anchor is refused; empty if it is valid."""
    if boost.anchor in ("", QUOTES_AND_CODES):
        return ""
    try:
        expression(boost.anchor)
    except UnsafeExpression as error:
        return str(error)
    return ""


def parse_boosts(rows: object) -> tuple[Boost, ...]:
    """The boosts described by a list of JSON objects with the fields of `Boost`.

    Raises ValueError with a sentence on the invalid one.
    """
    if not isinstance(rows, list):
        raise ValueError('Give a list of boosts, as in [{"name": "codes", "amount": 1.5}].')
    if len(rows) > MAX_BOOSTS:
        raise ValueError(f"A profile holds {MAX_BOOSTS} boosts at most, not {len(rows)}.")
    boosts = tuple(_boost(place, row) for place, row in enumerate(rows, start=1))
    names = [boost.name for boost in boosts]
    if len(set(names)) < len(names):
        raise ValueError("Each boost needs a name of its own.")
    return boosts


def as_json(boosts: Sequence[Boost]) -> list[dict[str, object]]:
    """The rows that `parse_boosts` reads, without the fields left at their defaults."""
    return [
        {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(boost).items()
            if value != _DEFAULTS[name]
        }
        for boost in boosts
    ]


def _boost(place: int, row: object) -> Boost:
    if not isinstance(row, Mapping):
        raise ValueError(f"Boost {place} must be an object with a name and an amount.")
    what = f"Boost {row.get('name') or place}"
    if unknown := sorted(set(map(str, row)) - _DEFAULTS.keys()):
        raise ValueError(f"{what} has no field {unknown[0]!r}. Choose of: {sorted(_DEFAULTS)}.")
    texts = {name: row.get(name, "") for name in ("name", "anchor", "pattern")}
    kinds = row.get("kinds", [])
    if not all(isinstance(text, str) for text in texts.values()) or not texts["name"]:
        raise ValueError(f"{what} needs a name, and texts for its anchor and its pattern.")
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise ValueError(f'{what}: kinds must be a list such as ["code", "table"].')
    if not isinstance(row.get("multiply", True), bool):
        raise ValueError(f"{what}: multiply must be true or false.")
    shorter_than = row.get("shorter_than", 0)
    is_number = isinstance(shorter_than, int) and not isinstance(shorter_than, bool)
    if not is_number or not 0 <= shorter_than <= MAX_CHARS:
        raise ValueError(
            f"{what}: shorter_than must be a number of characters between 0 and {MAX_CHARS:,}."
        )
    if not (texts["anchor"] or texts["pattern"] or kinds or shorter_than):
        raise ValueError(
            f"{what} would apply to every chunk: give it an anchor, pattern, kinds or shorter_than."
        )
    _check_patterns(what, **texts)
    return Boost(
        amount=_amount(what, row),
        multiply=row.get("multiply", True),
        kinds=tuple(kinds),
        shorter_than=shorter_than,
        query_class=_query_class(what, row.get("query_class")),
        **texts,
    )


def _check_patterns(what: str, *, name: str, anchor: str, pattern: str) -> None:
    """Raise ValueError for an invalid pattern. Postgres' syntax is nearly the same."""
    del name
    try:
        re.compile(anchor)
        re.compile(pattern.replace("{anchor}", "x"))
    except re.error as error:
        raise ValueError(
            f"{what}: {error.pattern!r} is not a valid regular expression: {error}."
        ) from error
    if "{anchor}" in pattern and not anchor:
        raise ValueError(f"{what}: its pattern speaks of an {{anchor}}, but it has none.")


def _amount(what: str, row: Mapping[object, object]) -> float:
    amount = row.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise ValueError(f"{what} needs an amount: a number to multiply by or to add.")
    multiplies = row.get("multiply", True)
    low = 0.0 if multiplies else -MAX_AMOUNT
    if not (math.isfinite(amount) and low <= amount <= MAX_AMOUNT):
        raise ValueError(f"{what}: its amount must lie between {low:g} and {MAX_AMOUNT:g}.")
    return float(amount)


def _query_class(what: str, value: object) -> QueryClass | None:
    if value in (None, ""):
        return None
    try:
        return QueryClass(str(value))
    except ValueError as error:
        names = ", ".join(QueryClass)
        raise ValueError(f"{what}: query_class must be one of {names}.") from error
