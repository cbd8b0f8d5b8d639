"""Chunks that hold a named identifier come first, whatever the scores say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from search.engine import configuration
from search.pipeline import search
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

DOCUMENTS = {
    "section.md": "# 30 CFR 75.1725 Machinery and equipment\n\nKeep machinery in safe condition.",
    "chatty.md": "# A chat about rules\n\n"
    + "People mention 30 CFR 75.1725 when they talk about 30 CFR 75.1725 and machinery. " * 4,
    "d40.md": "# Region D40\n\nThe pumps of D40 are painted green.",
    "d41.md": "# Region D41\n\nThe pumps of this region are painted blue.",
    "area.md": "# Area D\n\nArea D has forty doors and a region of pumps.",
    "incident.md": "# Incident\n\nTicket INC-2024-0042 was about a lost key.",
    "privacy.md": "# Privacy\n\nRecord PII-2024-0042 names a person.",
    "ros.md": "# Nodes\n\nIn ROS2 every node derives from rclcpp::Node.",
    "part.md": "# Spare part\n\nOrder part A-1312/B from the store.",
}


@pytest.fixture(scope="module", autouse=True)
def _documents(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with lasting(django_db_blocker):
        collection = make_collection()
        for name, text in DOCUMENTS.items():
            make_document(collection, text, file_name=name)
        yield


@pytest.mark.parametrize(
    ("query", "first"),
    [
        pytest.param("D40", "Region D40", id="S1-02"),
        pytest.param("d40", "Region D40", id="S1-28 lower case"),
        pytest.param("D-40", "Region D40", id="with a hyphen"),
        pytest.param("D 40", "Region D40", id="with a space"),
        pytest.param("Tell me about D40.", "Region D40", id="S1-22 punctuation"),
        pytest.param("30 CFR 75.1725", "30 CFR 75.1725 Machinery and equipment", id="S1-47"),
        pytest.param(
            "Explain 30 CFR 75.1725", "30 CFR 75.1725 Machinery and equipment", id="S1-09"
        ),
        pytest.param("PII-2024-0042", "Privacy", id="S1-07"),
        pytest.param("INC-2024-0042", "Incident", id="INC by its whole"),
        pytest.param("rclcpp::Node", "Nodes", id="S5-35"),
        pytest.param("A-1312/B", "Spare part", id="slashed part number"),
    ],
)
def test_document_that_owns_an_identifier_is_first(query: str, first: str) -> None:
    response = search(query, viewer=None)
    assert response.results[0].title == first
    assert response.results[0].hit.explanation.tier.reason


def test_codes_with_the_same_ending_do_not_match() -> None:
    hits = search("INC-2024-0042", viewer=None).results
    named = [result.title for result in hits if result.hit.explanation.tier.reason]
    assert named == ["Incident"]


def test_the_title_comes_before_the_body() -> None:
    titles = [r.title for r in search("30 CFR 75.1725", viewer=None).results]
    assert titles[:2] == ["30 CFR 75.1725 Machinery and equipment", "A chat about rules"]


def test_identifier_in_the_heading_of_a_small_section_counts_as_heading() -> None:
    """Small sections share a chunk; E-77 is named in a heading of one, in the text of the other."""
    collection = make_collection("Codes")
    make_document(collection, "# Codes\n\n## A\n\nShort.\n\n## E-77\n\nShort.", file_name="a.md")
    make_document(collection, "# Log\n\n- E-77\n- E-77 and again E-77", file_name="b.md")
    # A list of contents is no heading, though its lines read like one.
    index = "# Index\n\n- E-77\n\n" + "Words. " * 200 + "\n\n## E-77\n\n" + "More. " * 200
    make_document(collection, index, file_name="c.md")
    hits = search("E-77", viewer=None, group=False).results
    reasons = {(hit.title, hit.chunk): hit.hit.explanation.tier.reason for hit in hits}
    assert "defines" in reasons["Codes", 0]
    assert "text" in reasons["Log", 0]
    assert "text" in reasons["Index", 0]
    assert hits[0].title in {"Codes", "Index"}


def test_frequent_code_is_ranked_by_keywords() -> None:
    """In a longer query; alone it is still what was asked for."""
    configuration.current()
    collection = make_collection("Code")
    from search.retrieval import identifiers

    for number in range(3):
        make_document(
            collection, f"# Note {number}\n\nSet max_length here.", file_name=f"{number}.md"
        )
    limit, identifiers.MAX_IDENTIFIER_MATCHES = identifiers.MAX_IDENTIFIER_MATCHES, 2
    try:
        longer = search("how long may max_length be", viewer=None).results
        alone = search("max_length", viewer=None).results
    finally:
        identifiers.MAX_IDENTIFIER_MATCHES = limit
    assert not any(result.hit.explanation.tier.reason for result in longer)
    assert sum(bool(result.hit.explanation.tier.reason) for result in alone) == 3
