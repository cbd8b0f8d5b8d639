"""The original beside the text: who sees a page's picture, its mark, what is kept of it."""

from __future__ import annotations

import fcntl
import io
import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from PIL import Image

from common.accounts.models import User
from ingestion.documents import picture_cache, purging
from ingestion.models import Document, Visibility
from search.presentation import rectangles
from tests.samples import builders, slides
from tests.support.factories import make_collection, make_document
from tests.support.programs import needs

pytestmark = [pytest.mark.django_db, pytest.mark.forks]

recognising = needs("tesseract")
ARM = "The longer arm of the beam carries the weight that slides until the beam is level. "
PAGES: list[list[tuple[str, object]]] = [
    [("h1", "The beam"), ("p", ARM * 9)],
    [("h1", "The hook"), ("p", "Cargo hangs from the shorter arm on a hook of forged iron. " * 9)],
    [("h1", "The mark"), ("p", "Where the beam is level the mark of the weight is read. " * 9)],
]


@pytest.fixture
def handbook(settings: Any, tmp_path: Path) -> Document:
    settings.MEDIA_ROOT = tmp_path
    return make_document(make_collection(), builders.make_pdf(PAGES), file_name="beam.pdf")


def pictured(document: Document, page: int) -> str:
    return f"{document.get_absolute_url()}pages/{page}/"


def kept(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "pictures").glob("*/*/*") if path.suffix)


def test_page_is_rendered_once_on_request(
    client: Client, handbook: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = client.get(handbook.get_absolute_url(), {"view": "original"}).content.decode()
    assert re.findall(r'<img class="page" loading="lazy" src="[^"]+/pages/(\d)/"', html) == [
        "1", "2", "3",
    ]  # fmt: skip
    assert kept(tmp_path) == []

    response = client.get(pictured(handbook, 2))
    assert response["Content-Type"] == "image/webp"
    assert {"private", "no-cache"} <= set(response["Cache-Control"].split(", "))
    assert response["Vary"] == "Cookie"
    assert Image.open(io.BytesIO(response.content)).size == (1200, 1698)
    assert kept(tmp_path) == ["2.json", "2.webp"]

    monkeypatch.setattr(picture_cache, "draw_page", None)
    assert client.get(pictured(handbook, 2)).content == response.content
    again = client.get(pictured(handbook, 2), headers={"If-None-Match": response["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_mark_of_a_passage_is_laid_over_its_page(client: Client, handbook: Document) -> None:
    assert handbook.current is not None
    chunk = handbook.current.chunks.get(text__contains="forged iron", page=2)
    html = client.get(
        handbook.get_absolute_url(), {"view": "original", "chunk": chunk.ordinal}
    ).content.decode()
    marks = re.findall(r'<img class="place"[^>]* src="([^"]+)"', html)
    assert pictured(handbook, 2) + f"mark/{chunk.ordinal}/" in marks

    drawing = client.get(pictured(handbook, 2) + f"mark/{chunk.ordinal}/")
    assert drawing["Content-Type"] == "image/svg+xml"
    assert "sandbox" in drawing["Content-Security-Policy"]
    boxes = re.findall(
        r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', drawing.content.decode()
    )
    assert len(boxes) > 3
    assert all(int(x) + int(width) <= 10_000 for x, _, width, _ in boxes)
    # On a page that does not hold it, nothing is marked.
    elsewhere = client.get(pictured(handbook, 1) + f"mark/{chunk.ordinal}/")
    assert b"<rect" not in elsewhere.content


def test_results_and_answers_carry_the_same_places(client: Client, handbook: Document) -> None:
    asked = {"q": "forged iron hook", "collection": handbook.collection.slug}
    plain = client.get("/api/v1/search/", asked).json()["results"][0]
    assert "rectangles" not in plain
    drawing = client.get(pictured(handbook, 2) + f"mark/{plain['chunk']}/").content.decode()
    marks = re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', drawing)

    asked["rectangles"] = "true"
    found = client.get("/api/v1/search/", asked).json()["results"]
    places = found[0]["rectangles"]
    assert [each["page"] for each in places] == [2]
    assert [
        (left, top, right - left, bottom - top) for left, top, right, bottom in places[0]["boxes"]
    ] == [pytest.approx([int(each) / 10_000 for each in mark]) for mark in marks]

    question = {"q": "What hangs from the shorter arm on a hook?", "rectangles": True}
    answer = client.post("/api/v1/answers/", question, content_type="application/json").json()
    citation = answer["sentences"][0]["citations"][0]
    (source,) = (each for each in answer["sources"] if each["number"] == citation["source"])
    assert [each["page"] for each in citation["rectangles"]] == [2]
    assert source["rectangles"] == places

    make_document(handbook.collection, "# A forged iron hook\n\nNo page.\n")
    found = client.get("/api/v1/search/", asked | {"type": "md"}).json()["results"]
    assert [each["rectangles"] for each in found] == [[]]


def test_a_result_with_a_table_or_a_figure_shows_its_page(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    rows = [["Signal", "Meaning"], ["long", "the ferry leaves"], ["short", "the ferry waits"]]
    pages = [
        [("h1", "Signals"), ("table", rows)],
        [("h1", "Piers"), ("p", "The ferry lies at pier four. " * 30)],
        [("h1", "Tides"), ("p", "Figure 3: the ferry at low tide. " * 30)],
    ]
    secret = make_collection("Secret", visibility=Visibility.SIGNED_IN)
    make_document(secret, builders.make_pdf(pages), file_name="ferry.pdf")
    assert "thumbnail" not in client.get("/", {"q": "low tide"}).content.decode()
    client.force_login(User.objects.create_user("eve"))
    shown = []
    for question, page in (("long signal", "1"), ("pier four", ""), ("low tide", "3")):
        html = client.get("/", {"q": question}).content.decode()
        found = re.findall(r'class="thumbnail".*?src="([^"]+)"', html)
        assert [picture.split("/")[-4] for picture in found] == ([page] if page else [])
        shown += found
    for picture in shown:
        drawing = client.get(picture).content.decode()
        _, top, _, height = map(int, re.findall(r'viewBox="([^"]+)"', drawing)[0].split())
        assert 0 <= top < top + height < 10_000  # not the whole page
        assert "data:image/webp;base64,UklGR" in drawing
        assert Client().get(picture).status_code == 404
    settings.PAGE_PICTURES_BYTES = 0
    assert "thumbnail" not in client.get("/", {"q": "low tide"}).content.decode()


def test_slow_rectangles_are_left_for_the_next_request(
    client: Client, handbook: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"q": "forged iron hook", "rectangles": "true"}
    with monkeypatch.context() as patch:
        patch.setattr(rectangles, "SECONDS", -1)
        found = client.get("/api/v1/search/", asked).json()["results"]
    assert [each["rectangles"] for each in found] == [None] * len(found)
    with CaptureQueriesContext(connection) as with_places:
        found = client.get("/api/v1/search/", asked).json()["results"]
    assert all(each["rectangles"] for each in found)
    with CaptureQueriesContext(connection) as without:
        client.get("/api/v1/search/", {"q": "forged iron hook"})
    with CaptureQueriesContext(connection) as again:
        client.get("/api/v1/search/", asked)
    assert len(again) == len(without) + 1
    assert len(with_places) > len(again)  # a page that is drawn is looked up once more


def test_picture_needs_a_readable_document(
    client: Client, handbook: Document, reader: User, member: User
) -> None:
    collection = handbook.collection
    collection.visibility = Visibility.GROUPS
    collection.save()
    collection.groups.set(member.groups.all())
    addresses = [pictured(handbook, 1), pictured(handbook, 1) + "mark/0/"]
    for user in (None, reader):
        if user:
            client.force_login(user)
        assert [client.get(address).status_code for address in addresses] == [404, 404]
    client.force_login(member)
    assert [client.get(address).status_code for address in addresses] == [200, 200]


def test_picture_of_a_missing_page_is_not_found(client: Client, handbook: Document) -> None:
    note = make_document(handbook.collection, "# Note\n\nA note.\n")
    for address in (*(pictured(handbook, page) for page in (0, 4, 99_999)), pictured(note, 1)):
        assert client.get(address).status_code == 404
    html = client.get(note.get_absolute_url(), {"view": "original"}).content.decode()
    assert "<img" not in html
    assert "view=original" not in html


def test_unrenderable_page_shows_a_note_and_the_text(
    client: Client, handbook: Document, settings: Any, tmp_path: Path
) -> None:
    settings.PAGE_PICTURES_SECONDS = 0.001  # the renderer is killed
    for _ in range(2):  # drawn, then from the cache
        response = client.get(pictured(handbook, 1))
        assert response.status_code == 422
        assert response.content.decode().startswith("Page 1 cannot be shown as a picture: ")
    assert "no-store" in response["Cache-Control"]
    assert kept(tmp_path) == ["1.json"]
    page = client.get(handbook.get_absolute_url(), {"view": "original"})
    assert b"The longer arm of the beam" in page.content
    # A passing cause is not remembered for long.
    settings.PAGE_PICTURES_SECONDS = 30
    (facts,) = (tmp_path / "pictures").glob("*/*/1.json")
    os.utime(facts, (0, 0))
    assert client.get(pictured(handbook, 1)).status_code == 200


def test_pages_are_rendered_without_a_writable_cache(
    client: Client, handbook: Document, tmp_path: Path
) -> None:
    (tmp_path / "pictures").write_text("a file in place of the folder")
    assert client.get(pictured(handbook, 1)).status_code == 200


def test_busy_renderer_asks_the_reader_to_wait(
    client: Client, handbook: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_cache, "BUSY_SECONDS", 0.01)
    for _ in range(picture_cache.AT_ONCE):
        assert picture_cache._drawing.acquire(timeout=1)
    try:
        response = client.get(pictured(handbook, 1))
    finally:
        for _ in range(picture_cache.AT_ONCE):
            picture_cache._drawing.release()
    assert (response.status_code, response["Retry-After"]) == (503, "3")


def test_reader_does_not_wait_long_for_another_process_that_renders_the_file(
    client: Client, handbook: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.get(pictured(handbook, 1))
    monkeypatch.setattr(picture_cache, "BUSY_SECONDS", 0.01)
    (lock,) = (tmp_path / "pictures").glob("*/*/lock")
    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        response = client.get(pictured(handbook, 2))
        # What is kept already needs no turn.
        assert client.get(pictured(handbook, 1)).status_code == 200
    assert (response.status_code, response["Retry-After"]) == (503, "3")
    assert "Try again in a few seconds" in response.content.decode()
    assert client.get(pictured(handbook, 2)).status_code == 200


@needs("soffice")
def test_slides_are_pictures_with_the_passage_marked(
    client: Client, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path
    deck = slides.make_pptx([("The beam", ARM * 2, ""), ("The hook", "Of iron.", "")])
    document = make_document(make_collection(), deck, file_name="beam.pptx")
    html = client.get(document.get_absolute_url(), {"view": "original"}).content.decode()
    seen = re.findall(r'class="page wide" loading="lazy" src="[^"]+/pages/(\d)/"', html)
    assert seen == ["1", "2"]
    picture = client.get(pictured(document, 2))
    assert picture["Content-Type"] == "image/webp"
    assert Image.open(io.BytesIO(picture.content)).size == (1200, 675)
    assert kept(tmp_path) == ["2.json", "2.webp", "deck.pdf"]
    monkeypatch.setattr(picture_cache, "storage", None)  # the next one is a page of that PDF
    assert b"<rect" in client.get(pictured(document, 1) + "mark/0/").content


def test_slides_are_not_called_pages(client: Client) -> None:
    deck = slides.make_pptx([("The beam", ARM * 2, ""), ("The hook", "Of iron.", "")])
    document = make_document(make_collection(), deck, file_name="beam.pptx")
    assert document.current is not None
    assert [chunk.page for chunk in document.current.chunks.order_by("ordinal")] == [1, 2]
    for address, query in ((document.get_absolute_url(), {"view": "text"}), ("/", {"q": "iron"})):
        html = client.get(address, query).content.decode()
        assert "slide 2" in html
        assert "page 2" not in html


def test_a_scan_has_a_picture_without_marks(client: Client, settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    scan = io.BytesIO()
    Image.new("RGB", (600, 400), "white").save(scan, "PDF")
    document = make_document(make_collection(), scan.getvalue(), file_name="scan.pdf")
    assert client.get(pictured(document, 1))["Content-Type"] == "image/webp"
    assert document.latest is not None
    assert picture_cache.places_on(document.latest, 1, "The longer arm of the beam") == []


def test_pictures_are_deleted_with_their_document(
    client: Client, handbook: Document, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    client.get(pictured(handbook, 1))
    assert kept(tmp_path)
    with django_capture_on_commit_callbacks(execute=True):
        purging.purge([handbook])
    assert kept(tmp_path) == []


def test_least_recently_used_pictures_are_evicted(
    client: Client, handbook: Document, tmp_path: Path
) -> None:
    for page in (1, 2, 3):
        client.get(pictured(handbook, page))
    for picture in (tmp_path / "pictures").glob("*/*/*"):
        os.utime(picture, (9, 9) if picture.name[0] == "1" else (7, 7))
    client.get(pictured(handbook, 3))  # seen just now
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "pictures").glob("*/*/*.*")}
    assert picture_cache.sweep(sum(sizes.values())) == 0
    picture_cache.sweep(sum(sizes.values()) - sizes["2.webp"])
    assert "3.webp" in kept(tmp_path)
    assert "2.webp" not in kept(tmp_path)


@recognising
def test_image_without_text_is_a_failed_document_with_a_reason(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    blank = io.BytesIO()
    Image.new("RGB", (600, 400), "white").save(blank, "PNG")
    document = make_document(make_collection(), blank.getvalue(), file_name="blank.png")
    assert (document.current, document.latest and document.latest.state) == (None, "failed")

    page = client.get(document.get_absolute_url()).content.decode()

    assert "This document could not be processed. OCR found no text in this PNG image" in page
    # What there is to see is shown all the same.
    assert f'src="{pictured(document, 1)}"' in page
    assert client.get(pictured(document, 1))["Content-Type"] == "image/webp"
