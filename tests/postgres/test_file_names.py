"""Q3: a document is found by its file's name, which its title and text may not say."""

from __future__ import annotations

import pytest

from ingestion import services
from search.pipeline import search
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def titles(text: str) -> list[str]:
    return [result.title for result in search(text, viewer=None).results]


def test_by_a_word_of_the_name() -> None:
    collection = make_collection()
    make_document(collection, "# Water\n\nPumps move it.", file_name="hydraulics_2023.md")
    make_document(collection, "# Fire\n\nIt burns.", file_name="heat.md")
    response = search("hydraulics", viewer=None)
    assert response.results[0].title == "Water"
    assert response.results[0].hit.candidate.raw["title"] > 0


def test_by_the_whole_name_before_every_score() -> None:
    collection = make_collection()
    make_document(collection, "# Water\n\nPumps move it.", file_name="pump_node.md")
    make_document(collection, "# Talk\n\nSee pump_node.md. pump_node.md is it.", file_name="t.md")
    make_document(collection, "# A node\n\nThe pump.", file_name="pump_nodes.md")
    first = search("pump_node.md", viewer=None).results[0]
    assert first.title == "Water"
    assert first.hit.explanation.tier.reason.startswith("its title names")


def test_a_new_title_keeps_the_files_name() -> None:
    document = make_document(make_collection(), "# Water\n\nIt flows.", file_name="hydraulics.md")
    services.describe(document, acting_user=None, title="Rivers")
    assert titles("hydraulics") == ["Rivers"]
