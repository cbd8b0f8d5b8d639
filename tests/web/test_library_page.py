"""The library: documents without a question, filtered, sorted, in pages."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from common.accounts.models import User
from ingestion import services
from ingestion.models import Collection, Document
from search.models import Hide
from search.pages import library as pages
from tests.support.factories import make_document
from tests.support.shown_results import documents, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("library", "clean_cache")]

LIBRARY = "/library/"
HTMX = {"HX-Request": "true"}


def html_of(client: Client, address: str = LIBRARY, **parameters: Any) -> str:
    response = client.get(address, parameters)
    assert response.status_code == 200, response
    return response.content.decode()


def listed(html: str) -> list[str]:
    return re.findall(r'class="title"><a href="/documents/[^"]+">([^<]+)</a>', html)


def test_a_document_has_title_collection_type_size_and_date(client: Client) -> None:
    html = html_of(client, sort="title")
    row = next(one for one in html.split("<tr>") if ">Urlaub</a>" in one)

    assert re.fullmatch(
        r"Urlaub Handbook Markdown \d+ bytes \d{4}-\d\d-\d\d", text_of(row.split("</tr>")[0])
    )
    assert "5 documents" in text_of(html)
    assert '<a href="/library/" aria-current="page">Library</a>' in html


@pytest.mark.parametrize(
    ("parameters", "titles"),
    [
        ({"collection": "ships-papers"}, {"The logbook"}),
        ({"type": "text/html"}, {"On &lt;script&gt;alert(1)&lt;/script&gt; tags"}),
        ({"language": "de"}, {"Urlaub"}),
        ({"meta": "tag:cave"}, {"Cave regions"}),
        ({"meta": "tag:nobody"}, set()),
        ({"after": "2001-01-01", "before": "2002-01-01"}, set()),
    ],
    ids=["collection", "type", "language", "tag", "unknown tag", "dates"],
)
def test_filters_alone_list_documents(
    client: Client, library: SimpleNamespace, parameters: dict[str, str], titles: set[str]
) -> None:
    Document.objects.filter(pk=library.regions.pk).update(metadata={"tag": ["cave", "wet"]})
    asked = client.get("/", parameters, follow=True)

    assert asked.redirect_chain[-1][0].startswith("/library/?")
    assert set(listed(asked.content.decode())) == titles
    if not titles:
        assert "No document matches these filters" in asked.content.decode()


def test_a_tag_of_the_query_alone_lists_documents_and_is_a_chip(
    client: Client, library: SimpleNamespace
) -> None:
    Document.objects.filter(pk=library.regions.pk).update(metadata={"tags": ["cave", "wet"]})
    asked = client.get("/", {"q": "tag:cave"}, follow=True)

    assert asked.redirect_chain == [("/library/?meta=tags%3Acave", 302)]
    assert listed(asked.content.decode()) == ["Cave regions"]
    chips = asked.content.decode().split('class="chips"')[1].split("</ul>")[0]
    assert "tags: cave" in text_of(chips)
    # With words it filters the results, and with a hyphen it excludes.
    for query, is_found in (("region tag:cave", True), ("region -tag:cave", False)):
        found = client.get("/", {"q": query}).context["response"].results
        assert ("Cave regions" in {result.title for result in found}) is is_found


def test_the_library_opens_with_its_collections(client: Client, library: SimpleNamespace) -> None:
    Collection.objects.filter(pk=library.regions.collection_id).update(
        icon="map", description="What the crew should know <b>first</b>."
    )
    shelves = html_of(client).split('class="shelves"')[1].split("</ul>")[0]
    assert "#map" in shelves
    assert "Handbook What the crew should know &lt;b&gt;first&lt;/b&gt;. 4" in text_of(shelves)
    assert 'href="/library/?collection=handbook"' in shelves
    assert "Zanzibar" not in shelves
    # Where filters are set, the list itself comes first.
    assert 'class="shelves"' not in html_of(client, collection="handbook")
    assert 'class="shelves"' in html_of(client, "/")


@pytest.mark.parametrize("column", ["title", "collection", "type", "size", "added"])
def test_each_column_sorts_both_ways(client: Client, column: str) -> None:
    up, down = (html_of(client, sort=sign + column) for sign in ("", "-"))

    assert sorted(listed(up)) == sorted(listed(down))
    if column != "type" and column != "collection":
        assert listed(up) == listed(down)[::-1]
    assert f'class="{column}" aria-sort="ascending"' in up
    assert listed(html_of(client, sort="nonsense")) == listed(html_of(client))


def test_pages_list_every_document_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PER_PAGE", 2)
    first, second, third, beyond = (
        listed(html_of(client, sort="title", page=n)) for n in (1, 2, 3, 99)
    )
    assert len({*first, *second, *third}) == 5
    assert third == beyond
    assert 'rel="next" href="/library/?sort=title&amp;page=2"' in html_of(client, sort="title")


def test_documents_that_no_search_finds_are_not_listed(
    client: Client, library: SimpleNamespace
) -> None:
    Hide.objects.create(document=library.urlaub)
    assert "Urlaub" not in html_of(client)
    assert "4 documents" in text_of(html_of(client))

    Document.objects.update(current=None)
    text = text_of(html_of(client))
    assert "No documents yet" in text
    assert "Sign in to see more" in text


def test_a_question_in_the_library_is_searched_for(client: Client) -> None:
    asked = client.get(LIBRARY, {"q": "barometer", "collection": "ships-papers", "sort": "title"})
    assert asked["Location"].startswith("/?q=barometer&collection=ships-papers")
    typed = client.get(LIBRARY, {"q": "barometer"}, headers=HTMX)
    assert '<li class="result">' in typed.content.decode()
    assert typed["HX-Push-Url"] == "/?q=barometer"


@pytest.mark.parametrize(
    ("parameters", "queries"), [({}, 3), ({"collection": "handbook"}, 4)], ids=["all", "filtered"]
)
def test_library_page_takes_this_number_of_queries(
    client: Client,
    django_assert_num_queries: DjangoAssertNumQueries,
    parameters: dict[str, str],
    queries: int,
) -> None:
    with django_assert_num_queries(queries):
        client.get(LIBRARY, parameters)


# --- Metadata on the reader's pages: the filters of the search, the facts about a document -------


def titles(html: str) -> set[str]:
    return set(documents(html))


@pytest.fixture
def described(library: SimpleNamespace) -> SimpleNamespace:
    """The library with metadata on some of its documents."""
    Collection.objects.update(metadata_keys=["team_name", "code"])
    for document, metadata in (
        (library.connections, {"team_name": "Core & Data", "year": 2024, "tags": ["a", "b"]}),
        (library.regions, {"team_name": "Caves", "year": 2020, "note": "<b>wet</b>"}),
        (library.secret, {"team_name": "Harbour", "code": "zz-9"}),
    ):
        services.describe(document, metadata=metadata, acting_user=None)
    return library


@pytest.mark.usefixtures("described")
class TestMetadata:
    def test_metadata_facets_offer_readable_values(self, client: Client, member: User) -> None:
        html = client.get("/").content.decode()
        assert "<legend>Team name</legend>" in html
        assert 'name="meta" value="team_name:Core &amp; Data">' in html
        assert "Harbour" not in html
        assert "zz-9" not in html
        assert "<legend>Code</legend>" not in html

        client.force_login(member)
        html = client.get("/").content.decode()
        assert 'value="team_name:Harbour"' in html
        assert 'value="code:zz-9"' in html

    def test_ticked_metadata_narrows_and_stays_ticked(self, client: Client) -> None:
        asked = {"q": "region", "meta": ["team_name:Caves", "team_name:Core & Data"]}
        html = client.get("/", asked).content.decode()
        assert titles(html) == {"Cave regions", "Database connections"}
        assert 'value="team_name:Caves" checked' in html
        assert ">2<span" in html.split('id="narrowed"')[1][:60]
        html = client.get("/", {**asked, "meta": "team_name:Caves"}).content.decode()
        assert titles(html) == {"Cave regions"}

    def test_shows_a_condition_that_no_facet_offers(self, client: Client) -> None:
        html = client.get("/", {"q": "region", "meta": "year>=2024"}).content.decode()
        assert titles(html) == {"Database connections"}
        assert 'name="meta" value="year&gt;=2024" checked' in html
        assert "Clear filters" in html

    def test_document_page_links_metadata_to_similar_documents(
        self, client: Client, described: SimpleNamespace
    ) -> None:
        html = client.get(described.connections.get_absolute_url()).content.decode()
        assert (
            '<dt>Team name</dt><dd><a href="/?meta=team_name%3ACore%20%26%20Data">'
            "Core &amp; Data</a></dd>"
        ) in html
        assert '<a href="/?meta=tags%3Aa">a</a>, <a href="/?meta=tags%3Ab">b</a>' in html
        assert '<a href="/?meta=year%3A2024">2024</a>' in html
        html = client.get(described.regions.get_absolute_url()).content.decode()
        assert "&lt;b&gt;wet&lt;/b&gt;" in html
        assert "<b>wet" not in html


def test_folders_of_an_import_are_a_facet_and_a_breadcrumb(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    handbook = Collection.objects.get(slug="handbook")
    for path in ("hr/leave/a.md", "hr/pay/b.md"):
        make_document(handbook, f"# {path}\n\nThe folder {path}.\n", path=path)

    assert "Folder hr 2 hr/leave 1 hr/pay 1" in text_of(html_of(client))
    assert listed(html_of(client, meta="folder:hr/pay")) == ["hr/pay/b.md"]
    assert {*listed(html_of(client, meta="folder:hr"))} == {"hr/leave/a.md", "hr/pay/b.md"}
    assert "Handbook hr/pay" in text_of(html_of(client, "/", q="folder hr/pay/b.md"))

    document = Document.objects.get(title="hr/pay/b.md")
    with django_assert_num_queries(4):
        page = html_of(client, f"/documents/{document.public_id}/")
    assert "/library/?collection=handbook&amp;meta=folder%3Ahr%2Fpay" in page
    assert "Handbook hr pay" in text_of(page)
