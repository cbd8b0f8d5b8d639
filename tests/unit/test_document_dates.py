"""The date of a document, from what it states: validity, metadata, names, file; else its upload."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from ingestion.document_dates import DateKind, DocumentDate, date_of

ADDED = datetime(2026, 11, 28, 9, tzinfo=UTC)
CHANGED = datetime(2025, 6, 1, tzinfo=UTC)
CREATED = datetime(2019, 2, 3, tzinfo=UTC)


def dated(title: str = "Rental terms", **values: Any) -> DocumentDate:
    """The date of a document with these values; `file_name` and the like are its version's."""
    row = {
        "document__valid_from": None,
        "document__metadata": {},
        "document__title": title,
        "version__file_name": "terms.pdf",
        "version__file_modified": None,
        "version__file_created": None,
        "version__created": ADDED,
    }
    for name, value in values.items():
        row[next(column for column in row if column.endswith(f"__{name}"))] = value
    return date_of(row)


@pytest.mark.parametrize(
    ("title", "value"),
    [
        ("Rental terms 2026", "2026"),
        ("2024 price list", "2024"),
        ("Rental terms (2023)", "2023"),
        ("Minutes 2026-03-12", "2026-03-12"),
        ("20260312 minutes", "2026-03-12"),
        ("Price list 2026-03", "2026-03"),
        ("Budget 2027", "2027"),
        ("Minutes of the trust, 14 November 2024", "2024-11-14"),
        ("Protokoll vom 2. März 2025", "2025-03-02"),
        ("Minutes, March 3rd, 2025", "2025-03-03"),
        ("Newsletter Mai 2025", "2025-05"),
    ],
)
def test_a_title_dates_its_document(title: str, value: str) -> None:
    assert dated(title) == DocumentDate(value)


@pytest.mark.parametrize(
    "title",
    ["Rental terms", "INC-2024-0042", "PII-2024-0041 missing", "ISO 9001:2015", "Plan 2035",
     "Django 5.2", "The year 1984", "Part 20260231", "Ext. 2000-0101", "A2024 motor"],
)  # fmt: skip
def test_other_numbers_in_a_title_are_no_date(title: str) -> None:
    assert dated(title) == DocumentDate("2026-11-28", DateKind.ADDED)


def test_what_people_state_comes_before_what_files_say() -> None:
    stated: list[tuple[dict[str, Any], str]] = [
        ({"file_created": CREATED}, "2019-02-03"),
        ({"file_modified": CHANGED}, "2025-06-01"),
        ({"file_name": "rental_terms_2024.pdf"}, "2024"),
        ({"title": "Rental terms 2023"}, "2023"),
        ({"metadata": {"published": "2022-05-06T10:00", "date": "soon"}}, "2022-05-06"),
        ({"valid_from": date(2021, 1, 1)}, "2021-01-01"),
    ]
    values: dict[str, Any] = {}
    for more, value in stated:
        values |= more
        assert dated(**values) == DocumentDate(value)
