"""U and Q together: an upload becomes a ranked, explained result, on real Postgres.

Of each format, found by its file's name too; and however many passages it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest import approx

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Document,
    DocumentVersion,
    State,
    TermFrequency,
    Visibility,
)
from search.domain import OPTIONAL, QueryClass, Signal, Weights
from search.pipeline import Choices, search
from search.retrieval import Filters
from tests.samples import builders
from tests.samples.notebooks import make_notebook
from tests.samples.slides import make_odp, make_pptx
from tests.samples.spreadsheets import make_ods, make_xlsx
from tests.support.database import lasting
from tests.support.explanations import recomputed
from tests.support.factories import make_collection, make_document, upload
from tests.support.shown_results import titles

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


PUMPS = """# Water pumps

The pump station moves water from the lower reservoir to the upper one.

## Maintenance

Check the seals of every pump each month and replace worn bearings.
"""
CATS = """# House cats

Cats sleep for most of the day and hunt mice at night.
"""


class TestAnUpload:
    def test_upload_is_scored_by_every_signal(self) -> None:
        collection = make_collection()
        make_document(collection, PUMPS, file_name="pumps.md")
        make_document(collection, CATS, file_name="cats.md")

        response = search("replace pump bearings", viewer=None)

        best = response.results[0]
        assert best.title == "Water pumps"
        parts = {part.signal: part for part in best.hit.explanation.contributions}
        assert set(parts) == set(Signal) - set(OPTIONAL)
        assert all(part.value > 0 for part in parts.values())
        assert best.hit.score == approx(recomputed(best.hit))
        assert "<mark>" in best.snippet
        assert response.profile.name == "default"
        assert response.degraded == ()

    def test_upload_passes_through_all_states_to_ready(self) -> None:
        document = make_document(make_collection(), PUMPS, file_name="pumps.md")
        version = document.latest
        assert version is not None
        assert (version.state, version.progress, version.error) == (State.READY, 1, "")
        assert document.current == version
        assert version.chunk_count == version.chunks.count() > 0
        assert ChunkEmbedding.objects.count() == version.chunk_count
        for chunk in version.chunks.all():
            assert version.text[chunk.start : chunk.end] == chunk.text

    def test_file_without_text_fails_with_a_readable_error(self) -> None:
        document = make_document(make_collection(), "   \n \n", file_name="blank.txt")
        assert document.latest is not None
        assert document.latest.state == State.FAILED
        assert "no text" in document.latest.error.lower()
        assert document.current is None


class TestANewVersion:
    def test_new_version_replaces_chunks_and_frequencies(self) -> None:
        collection = make_collection()
        make_document(collection, PUMPS, file_name="pumps.md", source="/docs/pumps.md")
        make_document(collection, CATS, file_name="pumps.md", source="/docs/pumps.md")
        assert Document.objects.count() == 1
        assert titles("cats") == ["House cats"]
        assert not TermFrequency.objects.filter(lexeme="bear").exists()
        assert Chunk.objects.filter(searchable=False).count() == 0

    def test_failed_new_version_keeps_the_old_one_searchable(self) -> None:
        collection = make_collection()
        make_document(collection, PUMPS, file_name="a.md", source="/docs/a.md")
        document = make_document(collection, "  ", file_name="a.md", source="/docs/a.md")
        assert document.latest is not None
        assert document.latest.state == State.FAILED
        assert titles("bearings") == ["Water pumps"]

    def test_new_version_supersedes_an_unfinished_one(self) -> None:
        collection = make_collection()
        first = upload(collection, PUMPS, file_name="a.md", source="/docs/a.md")
        second = upload(collection, CATS, file_name="a.md", source="/docs/a.md")
        assert processing_steps.advance(first.version.pk) is False
        assert processing_steps.advance(second.version.pk) is True
        states = dict(DocumentVersion.objects.values_list("number", "state"))
        assert states == {1: State.SUPERSEDED, 2: State.READY}


class TestReprocessing:
    def test_reprocessing_makes_equal_chunks(self) -> None:
        document = make_document(make_collection(), PUMPS, file_name="pumps.md")
        before = list(document.chunks.values_list("content_hash", flat=True))
        assert services.reprocess([document], acting_user=None) == 1
        document.refresh_from_db()
        processing_steps.advance(document.latest_id)
        assert list(document.chunks.values_list("content_hash", flat=True)) == before
        assert titles("bearings") == ["Water pumps"]


class TestVisibility:
    def test_visibility_binds_hits_totals_and_frequencies(self, member: User) -> None:
        make_document(make_collection("Open"), CATS, file_name="cats.md")
        closed = make_collection("Closed", visibility=Visibility.GROUPS, groups=["insiders"])
        make_document(closed, PUMPS, file_name="pumps.md")

        assert search("pump bearings", viewer=None).terms == ()
        assert "Water pumps" not in titles("pump bearings")
        assert search("pump", viewer=None, filters=Filters(collections=("closed",))).total == 0
        inside = search("pump bearings", viewer=member)
        assert inside.results[0].title == "Water pumps"


class TestAQuery:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _documents(cls, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
        with lasting(django_db_blocker):
            collection = make_collection()
            make_document(collection, PUMPS, file_name="pumps.md")
            make_document(collection, CATS, file_name="cats.md")
            yield

    def test_weights_asked_for_are_used_and_named(self) -> None:
        only_keywords = Choices(weights=Weights(0, 1, 0), query_class=QueryClass.DEBUG)
        response = search("pump", viewer=None, choices=only_keywords)
        assert response.forced == ("class", "weights")
        assert response.results[0].hit.score == 1.0
        assert response.classification.query_class is QueryClass.DEBUG


# Long enough for the second slide to begin a chunk of its own.
LONG = "Small marsupials with round ears and short tails. " * 60
DECK = [("Quokkas", LONG, ""), ("Habitat", "They live on Rottnest Island.", "")]
NOTE = {"cell_type": "markdown", "source": "# Quokkas\n\nThey live on Rottnest Island."}
SHEET = {"A1": "Animal", "B1": "Home", "A2": "Quokka", "B2": "Rottnest Island"}


@pytest.mark.parametrize(
    ("content", "name", "page"),
    [
        (make_xlsx({"Animals": SHEET}), "animals.xlsx", None),
        (make_ods([("Animal", "Home"), ("Quokka", "Rottnest Island")]), "animals.ods", None),
        (make_pptx(DECK), "animals.pptx", 2),
        (make_odp(DECK), "animals.odp", 2),
        (make_notebook([NOTE]), "animals.ipynb", None),
    ],
    ids=["xlsx", "ods", "pptx", "odp", "ipynb"],
)
def test_an_upload_is_found(content: bytes, name: str, page: int | None) -> None:
    document = make_document(make_collection(), content, file_name=name)
    assert document.latest is not None
    assert (document.latest.state, document.latest.error) == (State.READY, "")

    found = search("Rottnest Island", viewer=None).results

    assert [result.title for result in found] == [document.title]
    chunk = Chunk.objects.get(version=document.current, text__contains="Rottnest")
    assert chunk.page == page


UPLOADS = {
    "note.eml": (builders.make_eml("Quarterly weighing"), "quarterly weighing", "message/rfc822"),
    "beams.json": (builders.make_json(), "Aachen", "application/json"),
    "log.jsonl": (
        b'{"event": "calibration drift"}\n{"event": "restart"}\n',
        "calibration drift",
        "application/x-ndjson",
    ),
    "shop.xml": (builders.make_xml(), "sku D41 hook", "application/xml"),
    "scales.py": (
        b'def tare_offset(beam):\n    """The empty pan."""\n    return beam.zero\n',
        "tare_offset",
        "text/x-python",
    ),
}


def test_each_format_is_found_by_its_content() -> None:
    collection = make_collection()
    documents = {
        name: make_document(collection, content, file_name=name)
        for name, (content, _, _) in UPLOADS.items()
    }
    for name, (_, question, media_type) in UPLOADS.items():
        version = documents[name].latest
        assert version is not None
        assert (version.state, version.media_type) == (State.READY, media_type), version.error
        best = search(question, viewer=None).results[0]
        assert best.title == documents[name].title, name
    assert documents["note.eml"].title == "Quarterly weighing"
    assert documents["scales.py"].title == "scales"


def test_document_is_found_by_a_word_of_its_file_name() -> None:
    collection = make_collection()
    make_document(collection, "# Water\n\nPumps move it.", file_name="hydraulics_2023.md")
    make_document(collection, "# Fire\n\nIt burns.", file_name="heat.md")
    response = search("hydraulics", viewer=None)
    assert response.results[0].title == "Water"
    assert response.results[0].hit.candidate.raw["title"] > 0


def test_document_with_the_whole_file_name_is_first() -> None:
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


def queries_for(sections: int) -> int:
    """How many statements it takes to process a note of so many long sections."""
    parts = [f"## Part {n}\n\n" + "The pump is green and quiet. " * 30 for n in range(sections)]
    version = upload(make_collection(f"{sections}"), "\n\n".join(parts)).version
    with CaptureQueriesContext(connection) as queries:
        assert processing_steps.advance(version.pk)
    assert Chunk.objects.filter(version=version).count() >= sections
    return len(queries)


def test_ten_passages_take_no_more_queries_than_two() -> None:
    queries_for(1)  # the first document makes the embedding space
    assert queries_for(10) == queries_for(2)
