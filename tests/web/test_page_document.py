"""The document page and the original file."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from ingestion.models import Document
from tests.support.factories import make_collection, make_document, upload
from tests.support.library import HOSTILE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("library")]


def read(client: Client, document: Document, **parameters: Any) -> str:
    response = client.get(document.get_absolute_url(), parameters)
    assert response.status_code == 200
    return response.content.decode()


def ordinals(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="chunk-(\d+)"', html)]


def passage(html: str, ordinal: int) -> str:
    return html.split(f'id="chunk-{ordinal}"')[1].split("</section>")[0]


def test_page_shows_facts_and_structure_of_the_document(
    client: Client, library: SimpleNamespace
) -> None:
    html = read(client, library.connections)

    assert "<h1>Database connections</h1>" in html
    for fact in ("Handbook", "connections.md", "Markdown, ", "English"):
        assert fact in html

    assert re.search(r'role="heading" aria-level="2">Connection pool</p>', html)
    assert "class Pool:\n    timeout = 5" in html.split("<pre")[1].split("</pre>")[0]
    assert '<td class="whole">connect_timeout</td><td class="whole">5</td>' in html
    # The title is the page's headline and is not said again.
    assert not re.search(r'aria-level="\d">Database connections', html)


def test_the_levels_of_headings_have_no_gaps(client: Client, library: SimpleNamespace) -> None:
    """The title is left out, so the headings below it are the first below the headline."""
    text = "# Guide\n\n## Deep\n\nOne.\n\n### Deeper\n\nTwo.\n\n## High\n\nThree.\n"
    html = read(client, make_document(library.connections.collection, text, file_name="guide.md"))
    levels = re.findall(r'level-(\d)" role="heading" aria-level="(\d)">([^<]+)', html)
    assert levels == [("2", "2", "Deep"), ("3", "3", "Deeper"), ("2", "2", "High")]


def test_page_opens_at_the_passage_and_marks_the_words(
    client: Client, library: SimpleNamespace
) -> None:
    html = read(client, library.logbook, chunk=50, q="barometers at noon")

    assert re.findall(r'class="passage asked" id="chunk-(\d+)"', html) == ["50"]
    asked = passage(html, 50)
    assert "<mark>barometer</mark>" in asked
    assert "<mark>noon</mark>" in asked
    assert {49, 51} <= set(ordinals(html))
    assert "Results for “barometers at noon”" in html


def test_the_windows_of_a_long_document_cover_it(client: Client, library: SimpleNamespace) -> None:
    total = library.logbook.current.chunk_count
    seen: list[int] = []
    address = library.logbook.get_absolute_url()
    for _ in range(total):
        html = client.get(address).content.decode()
        seen += ordinals(html)
        assert len(ordinals(html)) <= 40
        following = re.search(r'rel="next" href="([^"]+)"', html)
        if not following:
            break
        address = library.logbook.get_absolute_url() + following[1]

    assert set(seen) == set(range(total))
    assert total > 80
    assert 'rel="prev"' in html


@pytest.mark.parametrize(
    ("asked", "shown"), [("", 0), ("abc", 0), ("-5", 0), ("9" * 400, 0), ("99999", -1)]
)
def test_invalid_passage_number_shows_the_beginning_or_the_end(
    client: Client, library: SimpleNamespace, asked: str, shown: int
) -> None:
    html = read(client, library.logbook, chunk=asked)
    every = range(library.logbook.current.chunk_count)

    assert every[shown] in ordinals(html)


def here(html: str) -> list[str]:
    return re.findall(r'aria-current="location">([^<]+)<', html)


def test_contents_highlight_the_section_of_the_passage(
    client: Client, library: SimpleNamespace
) -> None:
    html = read(client, library.connections)
    assert re.findall(r'data-ordinal="\d+"[^>]*>([^<]+)<', html) == [
        "Connection pool",
        "Connection timeouts",
    ]
    # A heading on this page is a step away; one beyond the window opens it.
    assert len(re.findall(r'<a href="#chunk-\d" data-ordinal', html)) == 2
    html = read(client, library.logbook, chunk=50, q="noon")
    chunk = library.logbook.current.chunks.get(ordinal=50)
    assert here(html) == [chunk.heading_path[-1]]
    assert 'href="?chunk=0&amp;q=noon#section-' in html


def test_hits_link_to_the_next_hit(client: Client, library: SimpleNamespace) -> None:
    # "day 7" alone is one passage of ninety that hold "barometer": the best hold both words.
    html = read(client, library.logbook, q="barometer 907")
    assert "1 hit<" in html
    [following] = re.findall(r'data-hit="next"[^>]* href="([^"]+)"', html)
    html = client.get(library.logbook.get_absolute_url() + following.replace("&amp;", "&"))
    asked = passage(html.content.decode(), int(re.findall(r"chunk=(\d+)", following)[0]))
    assert "at <mark>907</mark>" in asked
    assert "1 of 1" in html.content.decode()

    html = read(client, library.logbook, q="barometer", chunk=3)
    total = library.logbook.current.chunk_count
    assert f"4 of {total}" in html
    assert re.findall(r'data-hit="(\w+)"[^>]*chunk=(\d+)&amp;q=barometer#chunk-', html) == [
        ("previous", "2"),
        ("next", "4"),
    ]
    # What nobody asked has no hits, nor what no passage holds.
    assert "data-hit" not in read(client, library.logbook)
    assert "data-hit" not in read(client, library.logbook, q="zeppelin")


def test_a_passage_has_an_address_of_its_own(client: Client, library: SimpleNamespace) -> None:
    html = read(client, library.logbook, q="noon")
    [address] = re.findall(r'class="permalink" href="([^"]+)"', passage(html, 5))
    assert address == "?chunk=5#chunk-5"
    html = read(client, library.logbook, chunk=5)
    assert re.findall(r'class="passage asked" id="chunk-(\d+)"', html) == ["5"]


def test_contents_and_hits_leave_out_disabled_passages(client: Client) -> None:
    long = " and quiet, with the lamp lit and the gate watched" * 8
    text = f"# Top\n\n## Open\n\nA harbour is open{long}.\n\n## Shut\n\nA harbour is shut{long}.\n"
    document = make_document(make_collection("Edits"), text)
    document.current.chunks.filter(text__contains="is shut").update(searchable=False)  # type: ignore[union-attr]
    html = read(client, document, q="harbour")
    assert "1 hit<" in html
    assert re.findall(r'data-ordinal="\d+"[^>]*>([^<]+)<', html) == ["Open"]


def test_the_original_comes_as_an_inert_download(client: Client, library: SimpleNamespace) -> None:
    response = client.get(library.hostile.get_absolute_url() + "original/")

    assert b"".join(response.streaming_content) == HOSTILE.encode()  # type: ignore[attr-defined]
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"] == (
        "attachment; filename*=utf-8''r%C3%A9sum%C3%A9%20%E2%80%9Cfinal%E2%80%9D.html"
    )
    assert "sandbox" in response["Content-Security-Policy"]


@pytest.mark.parametrize("file_name", ["feed.xml", "app.js"])
def test_active_content_is_downloaded_as_bytes(client: Client, file_name: str) -> None:
    content = b"<a>Hooks.</a>" if file_name.endswith("xml") else b"function hook() { return 1; }\n"
    document = make_document(make_collection("Downloads"), content, file_name=file_name)
    response = client.get(f"/documents/{document.public_id}/original/")
    assert b"".join(response.streaming_content) == content  # type: ignore[attr-defined]
    assert response["Content-Type"] == "application/octet-stream"
    assert "attachment" in response["Content-Disposition"]


def test_an_original_that_is_gone_is_not_found(client: Client) -> None:
    document = make_document(make_collection("Leaky"), "# Gone\n\nThis file will be lost.\n")
    assert document.current is not None
    default_storage.delete(document.current.file.name)

    assert client.get(document.get_absolute_url()).status_code == 200
    assert client.get(document.get_absolute_url() + "original/").status_code == 404


def test_unfinished_or_failed_document_shows_its_state(client: Client) -> None:
    shelf = make_collection("Inbox")
    waiting = upload(shelf, "# Soon\n\nNot yet read.\n", file_name="soon.md").document
    failed = make_document(shelf, "   \n", file_name="blank.txt")

    assert "This document is still being processed (waiting)." in read(client, waiting)
    html = read(client, failed)
    assert "This document could not be processed." in html
    assert failed.latest is not None
    assert failed.latest.error in html


def test_document_page_takes_this_number_of_queries(
    client: Client, library: SimpleNamespace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    address = library.logbook.get_absolute_url()
    # The document, its concepts, the passages, the contents, the hits.
    with django_assert_num_queries(5) as captured:
        client.get(address, {"chunk": 40, "q": "noon"})
    # The extracted text may be 50 MB; the page must not read it.
    assert not any('"text",' in query["sql"].split("FROM")[0] for query in captured[:1])
    with django_assert_num_queries(1):
        client.get(address + "original/").close()
