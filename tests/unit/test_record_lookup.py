"""Which section of a passage holds the identifier that a question names."""

from __future__ import annotations

import pytest

from ingestion.identifiers import DEFAULT_PATTERNS
from search.presentation.records import RecordLookup
from search.query import parse


@pytest.mark.parametrize(
    ("question", "own", "others"),
    [
        ("list_per_page", "ModelAdmin.list_per_page", ("ModelAdmin", "list_per_page_links")),
        ("What does set_now do?", "DayField.set_now", ("DayField", "DayField.set_now_once")),
        ("get_one", "Shortcuts.get_one()", ("Shortcuts", "Notes on get_two")),
        ("INC-0118", "INC-0118: Pump", ("INC-0117: Pump", "INC-0119. Pump")),
    ],
)
def test_section_named_by_the_identifier_comes_before_texts_that_mention_it(
    question: str, own: str, others: tuple[str, str]
) -> None:
    lookup = RecordLookup.of(parse(question, DEFAULT_PATTERNS), DEFAULT_PATTERNS)
    mentions = ["", f"See {question}.", f"Beside {question}."]
    held = lookup.holders([("Reference", own), *(("Reference", each) for each in others)], mentions)
    assert held[0] > max(held[1:])


@pytest.mark.parametrize(
    ("question", "is_bare"),
    [("Article 10", True), ("Article 6a", True), ("Mileage 2023", False), ("Hall B", True)],
)
def test_a_year_numbers_no_record(question: str, is_bare: bool) -> None:
    assert RecordLookup.of(parse(question, DEFAULT_PATTERNS), DEFAULT_PATTERNS).is_bare is is_bare
