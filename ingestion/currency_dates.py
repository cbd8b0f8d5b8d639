"""Whether a document is current, and the values in files that say so. Pure.

A document is superseded while a newer one that names it is in force, expired after its last valid
day, and not yet valid before its first. Days are those of the site's time zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any


class CurrencyState(StrEnum):
    CURRENT = "current"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"


@dataclass(frozen=True, slots=True)
class Currency:
    """The reason why a document is not current, as far as the reader may know it.

    `day` is its last valid day if it is expired, its first if it is not yet valid. `successor` is
    the public id of the newest document in force that supersedes it; empty if there is none, or
    the reader may not read it. `behind` are the ids of documents that rank before it.
    """

    state: CurrencyState = CurrencyState.CURRENT
    day: date | None = None
    successor: str = ""
    successor_title: str = ""
    behind: tuple[int, ...] = ()


CURRENT = Currency()


Day = date | None


def state_on(today: date, start: Day, end: Day, *, superseded: bool) -> tuple[CurrencyState, Day]:
    """The state on `today`, and the first or last day of validity that causes it, if any."""
    if superseded:
        return CurrencyState.SUPERSEDED, None
    if end is not None and end < today:
        return CurrencyState.EXPIRED, end
    if start is not None and start > today:
        return CurrencyState.NOT_YET_VALID, start
    return CurrencyState.CURRENT, None


DATES = frozenset({"valid_from", "valid_until", "review_by"})
KEYS = ("supersedes", "valid_from", "valid_until", "review_by", "owner")
"""What front matter and the columns of a manifest may state."""
MOST_NAMED = 100  # documents that one file supersedes; each is looked up. A guess.


def values_of(values: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """The values of KEYS in a file, as texts or lists of texts, without empty ones.

    At most MOST_NAMED documents of `supersedes` are returned.
    """
    stated: dict[str, str | list[str]] = {}
    for key in KEYS:
        texts = [text for each in _listed(values.get(key)) if (text := _text(each))]
        if texts:
            stated[key] = texts[:MOST_NAMED] if key == "supersedes" else texts[0]
    return stated


def day_of(text: str) -> date | None:
    """The date in a text such as 2026-01-31, with or without a time; None if it is not a date."""
    try:
        return date.fromisoformat(text[:10] if text[10:11] in ("T", " ") else text)
    except ValueError:
        return None


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str:
    # At most as long as a title.
    text = value.isoformat() if isinstance(value, date) else str(value or "")
    return "".join(filter(str.isprintable, " ".join(text.split())))[:500].strip()
