"""What of a document is searchable is said wherever it is shown, in words and in figures."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from common.probes import PROBES, State
from ingestion.documents import completeness
from ingestion.domain import Completeness, Unit, Why
from ingestion.models import ChunkEmbedding, Collection, Document, DocumentVersion
from search.answers import answering
from search.answers.domain import AnswerParameters
from search.answers.request import AnswerRequest
from tests.samples.builders import make_pages, make_zip
from tests.support.database import statements
from tests.support.factories import make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

LIST, API = "/admin/ingestion/document/", "/api/v1/documents/"
NOTE = "Incomplete: 5 of 6 pages are searchable"
SENTENCE = "5 of 6 pages are searchable; 1 page: damaged or missing (3)."


@pytest.fixture
def report(handbook: Collection) -> Document:
    """Six pages, the third of which is missing."""
    make_document(handbook, "# Whole\n\nAll of this is read.\n", file_name="whole.md")
    return make_document(handbook, make_pages("ttmttt"), file_name="Report.pdf")


def rows(desk: Client, query: str) -> list[str]:
    shown = desk.get(f"{LIST}?{query}").context["cl"].result_list
    return [document.title for document in shown]


def test_the_admin_lists_filters_and_sorts_what_is_missing(desk: Client, report: Document) -> None:
    listed = desk.get(LIST).content.decode()
    assert NOTE in listed
    assert "17%" in listed
    assert rows(desk, "state=incomplete") == ["Report"]
    assert rows(desk, "o=-4") == ["Report", "Whole"]
    assert rows(desk, "o=4") == ["Whole", "Report"]
    assert SENTENCE in desk.get(f"{LIST}{report.pk}/change/").content.decode()


def test_completeness_of_an_earlier_release_is_unknown(desk: Client, report: Document) -> None:
    DocumentVersion.objects.filter(pk=report.current_id).update(completeness=None)
    assert rows(desk, "state=unknown") == ["Report"]
    assert rows(desk, "state=incomplete") == []
    assert "is not known" in desk.get(report.get_absolute_url()).content.decode()
    assert NOTE not in desk.get("/", {"q": "fulcrum"}).content.decode()


def test_api_returns_the_completeness_figures(edit: APIClient, report: Document) -> None:
    shown = edit.get(f"{API}{report.public_id}/").json()
    counts = shown["completeness"]
    assert counts == shown["versions"][0]["completeness"]
    assert counts["summary"] == SENTENCE.replace(" (3)", "")
    assert (counts["unit"], counts["total"], counts["with_text"]) == ("page", 6, 5)
    assert (counts["failed"], counts["empty"], counts["over_limit"]) == (1, 0, 0)
    assert counts["gaps"] == [{"unit": "page", "why": "damaged", "count": 1, "places": ["3"]}]
    assert counts["missing"] == pytest.approx(1 / 6, abs=1e-4)
    assert counts["kept"] == counts["found"] > 100
    lists = [edit.get(API, {"incomplete": value}).json()["results"] for value in ("true", "false")]
    assert [[row["title"] for row in each] for each in lists] == [["Report"], ["Whole"]]


def test_results_and_answers_show_the_note_once(
    client: Client, api: APIClient, report: Document
) -> None:
    page = client.get("/", {"q": "fulcrum"}).content.decode()
    assert page.count(NOTE) == 1
    (result, *_) = api.get("/api/v1/search/", {"q": "fulcrum"}).json()["results"]
    assert result["document"]["gap"] == NOTE
    assert SENTENCE in client.get(report.get_absolute_url()).content.decode()
    question = AnswerRequest(
        "What of the fulcrum?", viewer=None, parameters=AnswerParameters(refuse_below=0.0)
    )
    answered = answering.answer(question)
    assert answered.cited
    assert f"Source 1: {NOTE}" in answered.notes


def test_lists_ask_no_more_for_incomplete_documents(
    handbook: Collection, client: Client, desk: Client, edit: APIClient, report: Document
) -> None:
    make_document(handbook, make_pages("tttttmttt"), file_name="longer.pdf")
    search = "/api/v1/search/?q=fulcrum"
    pages = ((desk, LIST), (edit, API), (client, "/?q=fulcrum"), (edit, search))
    for reader, address in pages:  # what a process asks only once
        reader.get(address)
    lacking = [statements(lambda page=page: page[0].get(page[1])) for page in pages]
    DocumentVersion.objects.update(completeness=None)
    assert [statements(lambda page=page: page[0].get(page[1])) for page in pages] == lacking


@pytest.mark.usefixtures("no_worker")
def test_import_counts_and_names_incomplete_documents(
    tmp_path: Path, desk: Client, edit: APIClient
) -> None:
    (tmp_path / "report.pdf").write_bytes(make_pages("tmt"))
    (tmp_path / "whole.md").write_text("# Whole\n\nAll of it.\n")
    out = StringIO()
    call_command("import_documents", str(tmp_path), collection="Handbook", stdout=out, stderr=out)
    assert "2 added, 1 incomplete" in out.getvalue()
    assert "report.pdf: 2 of 3 pages are searchable; 1 page: damaged or missing." in out.getvalue()
    (run,) = edit.get("/api/v1/imports/").json()["results"]
    assert run["counts"]["incomplete"] == 1
    page = desk.get(f"/admin/ingestion/import/{run['id']}/change/").content.decode()
    assert "Incomplete: 2 of 3 pages are searchable" in page


def test_members_refused_later_count_as_lost(
    handbook: Collection, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAX_UPLOAD_BYTES = 2000
    whole = {"a.md": "# A\n\nOf the beam.", "long.md": "# B\n" + "word " * 900}
    document = make_document(handbook, make_zip(whole), file_name="both.zip")
    assert document.current is not None
    assert completeness.note(document.current.completeness) == (
        "Incomplete: 1 of 2 files are searchable"
    )


def test_doctor_finds_ready_documents_without_vectors(report: Document) -> None:
    (found,) = PROBES["documents"].run()
    assert (found.state, "of 1 something" in found.text) == (State.OK, True)
    ChunkEmbedding.objects.filter(chunk__document=report).delete()
    (found,) = PROBES["documents"].run()
    assert found.state is State.WRONG
    assert str(report.pk) in found.text


@pytest.mark.parametrize(
    ("total", "gaps", "sentence"),
    [
        (2, [], "2 of 2 pages are searchable."),
        (1, [(Why.NO_OCR, ["1"])], "0 of 1 page is searchable; 1 scan needs OCR (1)."),
        (47, [(Why.NO_OCR, "345")], "44 of 47 pages are searchable; 3 scans need OCR (3, 4, 5)."),
        (99, [(Why.OCR_LIMIT, ["7"] * 12)], "87 of 99 pages are searchable; 12 scans: beyond "
         "OCR_PAGES (7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 2 more)."),
        (3, [(Why.BLANK, [2])], "2 of 3 pages are searchable; 1 page: empty (2)."),
    ],
)  # fmt: skip
def test_summary_names_the_gaps(total: int, gaps: list[Any], sentence: str) -> None:
    counts = Completeness(Unit.PAGE, total)
    for why, places in gaps:
        counts.add(Unit.PAGE, why, places)
    assert completeness.summary(counts.as_json(), with_places=True) == sentence
    assert bool(completeness.note(counts.as_json())) is (counts.missing > 0)
    assert Completeness.from_json(counts.as_json()) == counts


def test_summary_without_units_names_the_lost_parts() -> None:
    counts = Completeness()
    assert completeness.summary(counts.as_json()) == "All of it is searchable."
    counts.add(Unit.FILE, Why.CUT_OFF, ["end\0\u202e"])
    assert Completeness.from_json(counts.as_json()).gaps[0].places == ("end",)
    assert completeness.summary(counts.as_json()) == (
        "Not all of it is searchable; the file ends early."
    )
    assert completeness.note(counts.as_json()) == "Incomplete: the file ends early"
    assert 0 < counts.missing < 0.01
