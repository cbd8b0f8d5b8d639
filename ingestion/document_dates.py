"""The date of a document: its own where it states one, else the day of its upload. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Any

from ingestion.lexical.written_dates import MONTHS


class DateKind(StrEnum):
    DOCUMENT = "document"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class DocumentDate:
    """A day, month or year in ISO 8601, as exact as its source: 2026-03-01, 2026-03 or 2026.

    ADDED: the document states none, and this is the day on which its text was uploaded.
    """

    value: str
    kind: DateKind = DateKind.DOCUMENT

    def as_data(self) -> dict[str, str]:
        """The date for programs."""
        return {"value": self.value, "kind": self.kind.value}


# Metadata that states a document's date, the best first. A guess.
KEYS = ("effective_date", "date", "updated", "published", "issued")
EARLIEST = 1990  # an earlier year in a name is what the document is about. A guess

_STATED = re.compile(r"[12]\d{3}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?(?=[T ]|\Z)")
# A whole day may be anywhere in a name. A month or year stands by itself: INC-2024-0042 has none.
_NAMED = (
    re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)"),
    re.compile(r"(?:^|(?<=[\s(\[_]))((?:19|20)\d\d)()-(0[1-9]|1[0-2])(?=[\s)\],_]|$)"),
    re.compile(r"(?:^|(?<=[\s(\[_])|(?<=[a-z]-))((?:19|20)\d\d)(?=[\s)\],_]|-[a-zA-Z]|$)"),
)
# 14 November 2024, 12. März 2025, March 2025, March 3, 2025.
_WRITTEN = re.compile(
    r"(?i)(?:\b(\d\d?)(?:\.|st|nd|rd|th)?\s(?:of |de )?)?"
    rf"\b({'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
    r"(?:\s(\d\d?)(?:st|nd|rd|th)?,)?\s(?:de )?((?:19|20)\d\d)\b"
)

# What `date_of` reads of a document and of its version, as columns of a passage.
COLUMNS = (
    *(f"document__{name}" for name in ("valid_from", "metadata", "title")),
    *(f"version__{name}" for name in ("file_name", "file_modified", "file_created", "created")),
)


def date_of(row: Mapping[str, Any]) -> DocumentDate:
    """The date that a document states, or the day of its upload.

    The first day of its validity counts first, then its metadata, its title and file name, and
    what its file says of itself (front matter, properties). A date in a name that is later than the
    year after the upload is what the document is about. `row` has the COLUMNS.
    """
    added = row["version__created"]
    for value in _stated(row, added.year + 1):
        with suppress(ValueError):  # 2026-02-31
            as_day(value)
            return DocumentDate(value)
    return DocumentDate(added.date().isoformat(), DateKind.ADDED)


def date_of_version(document: Any, version: Any) -> DocumentDate:
    """The date of a document whose text is that of the version; None: one that was deleted."""
    if version is None:
        return DocumentDate(document.created.date().isoformat(), DateKind.ADDED)
    rows = {"document": document, "version": version}
    names = ((column, *column.split("__")) for column in COLUMNS)
    return date_of({column: getattr(rows[row], name) for column, row, name in names})


def _stated(row: Mapping[str, Any], latest: int) -> Iterator[str]:
    if row["document__valid_from"]:
        yield row["document__valid_from"].isoformat()
    for key in KEYS:
        if match := _STATED.match(str(row["document__metadata"].get(key, "")).strip()):
            yield match[0]
    for name in (row["document__title"], row["version__file_name"].rpartition(".")[0]):
        yield from _in_name(name, latest)
    for moment in (row["version__file_modified"], row["version__file_created"]):
        if moment:
            yield moment.date().isoformat()


@lru_cache(maxsize=1024)  # a page of results names each document several times
def _in_name(name: str, latest: int) -> tuple[str, ...]:
    written = (
        (year, f"{MONTHS[month.casefold()]:02}", f"{int(before or after or 0):02}")
        for before, month, after, year in _WRITTEN.findall(name)
    )
    named = ((m[1], *m.groups()[2:]) for form in _NAMED for m in form.finditer(name))
    dates = (*written, *named)
    return tuple(
        "-".join(each).removesuffix("-00") for each in dates if EARLIEST <= int(each[0]) <= latest
    )


def as_day(value: str) -> date:
    """The first day of a date's month or year, or its day."""
    return date.fromisoformat((value + "-01-01")[:10])
