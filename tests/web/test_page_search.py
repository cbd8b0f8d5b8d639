"""The search page: what it shows, how it explains itself, what it does with odd input."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.staticfiles import finders
from django.core.cache import cache
from django.test import Client
from django.utils import translation
from pytest import approx
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.models import Document, DocumentVersion
from search.models import SearchProfile
from search.pipeline import search
from search.readers import examples
from tests.support.factories import make_collection, make_document, upload
from tests.support.shown_results import documents as titles
from tests.support.shown_results import headings, results, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("library")]

HTMX = {"HX-Request": "true"}


def ask(client: Client, query: str = "", **parameters: Any) -> str:
    response = client.get("/", {"q": query, **parameters})
    assert response.status_code == 200
    return response.content.decode()


def places(html: str) -> list[str]:
    return re.findall(r'class="result-link" href="([^"]+)"', html)


# --- results -----------------------------------------------------------------------------------


def test_result_shows_its_place_and_marks_the_words(client: Client) -> None:
    html = ask(client, "connection timeouts")
    first = html[html.index('<li class="result">') :].split("</li>")[0]

    assert headings(first) == ["Connection timeouts"]
    assert '<span class="shelf">Handbook</span>' in first
    # The space lets a long path wrap between its headings, and stands before each separator.
    assert ' <span class="crumb">Database connections</span>' in first
    assert "<mark>connection</mark>" in first
    assert re.search(r'href="/documents/[0-9a-f-]{36}/\?chunk=\d+&amp;q=connection', first)


def test_the_apis_name_of_the_question_searches_too(client: Client) -> None:
    by_hand = client.get("/", {"query": "connection timeouts"}).content.decode()
    assert headings(by_hand) == headings(ask(client, "connection timeouts"))
    assert 'value="connection timeouts"' in by_hand


def test_parts_and_adjustments_of_a_score_add_up_to_it(client: Client) -> None:
    html = ask(client, "connection timeouts")
    checked = 0
    for figures in html.split('<div class="figures">')[1:]:
        parts = [float(part) for part in re.findall(r"<td>= ([\d.-]+)</td>", figures)]
        total = re.search(r"Score</th><td>([\d.-]+)</td>", figures)
        assert total is not None
        assert len(parts) == 3
        made = sum(parts)
        adjustments = re.findall(r"<td>([+×]) ([\d.]+)</td></tr>", figures)
        for sign, amount in adjustments:
            made = made + float(amount) if sign == "+" else made * float(amount)
        # The similarity to the first results; the boosts of short sections are factors.
        assert [sign for sign, _ in adjustments].count("+") == 1
        assert made == approx(float(total[1]), abs=0.002)
        checked += 1
    assert checked == len(titles(html)) > 1


def test_one_line_names_the_class_and_opens_to_rule_profile_and_weights(
    client: Client, member: User
) -> None:
    text = text_of(ask(client, "what is a connection pool"))
    vector = search("what is a connection pool", viewer=None).weights.vector

    assert "Ranked as: Concept question" in text
    assert "Profile default v5; rule: asks what it is." in text
    assert f"Meaning {vector * 100:g} %" in text
    # Times and stems say nothing to readers.
    assert not re.search(r"\d ms\b|query terms", text)
    member.is_staff = True
    member.save()
    client.force_login(member)
    assert re.search(
        r"retrieval [\d.]+ ms .* query terms connect", text_of(ask(client, "connections"))
    )


def test_a_named_identifier_comes_first_and_alone_is_called_first(client: Client) -> None:
    html = ask(client, "the barometer and D40")

    assert titles(html)[0] == "Cave regions"
    assert "First because its heading names D40" in text_of(html)
    assert text_of(html).count("First because") == 1

    make_document(make_collection("More"), "# Ropes\n\nWhoever visits D40 brings a rope.")
    html = text_of(ask(client, "the barometer and D40"))

    assert html.count("First because its heading names D40") == 1
    assert html.count("Ranked higher because its text names D40") == 1


def test_missing_exact_words_are_reported(client: Client) -> None:
    html = ask(client, '"at the shore"')

    assert titles(html) == ["Cave regions"]
    assert re.findall("<mark>(.*?)</mark>", html) == ["at the shore"]
    assert "Probably nothing" not in html
    assert "may not answer" not in html

    html = text_of(ask(client, '"as of this very now"'))

    assert "No passage contains the exact words “as of this very now”" in html
    assert "Probably nothing here about “as of this very now”" in html


def test_code_in_results_keeps_its_lines_and_marks(client: Client) -> None:
    text = "# Pumps\n\nStart it.\n\n```\n$ bilge <option>\n$ bilge --gondolier\n```\n\nThen wait."
    make_document(make_collection("More"), text)
    html = ask(client, "bilge gondolier")

    first = html[html.index('<li class="result">') :].split("</li>")[0]
    assert "<pre" in first
    assert "bilge</mark> &lt;option&gt;\n$ <mark>bilge" in first
    assert '<p class="snippet">Start it. Then wait.</p>' in first

    first = results(ask(client, "pool_size return"))[0]

    assert '<pre class="snippet"><code>' in first
    assert "def <mark>pool_size</mark>() -&gt; int:\n    <mark>return</mark> 10" in first


def test_slow_model_is_reported(client: Client, settings: Any) -> None:
    settings.QUERY_EMBEDDING_TIMEOUT = 0
    html = ask(client, "connection timeouts without a model")

    assert "Meaning-based matching is unavailable; showing keyword and title matches." in html
    assert titles(html)[0] == "Database connections"


def test_documents_with_one_title_are_distinguished(client: Client) -> None:
    shelf = make_collection("Annex")
    for number in (1, 2):
        text = f"# Obelisk\n\nThe obelisk of site {number} leans to the {number * 7}th stone."
        make_document(shelf, text, file_name=f"site-{number}.md")
    found = results(ask(client, "the leaning obelisk", collection="annex", group="false"))

    names = {re.findall(r'class="leaf file">([^<]+)<', one)[0] for one in found}
    assert names == {"site-1.md", "site-2.md"}
    assert "leaf file" not in ask(client, "connection timeouts", collection="handbook")
    # One name for all of them tells nothing apart.
    DocumentVersion.objects.filter(document__collection=shelf).update(file_name="site.md")
    assert "leaf file" not in ask(client, "the obelisk leans", collection="annex", group="false")


# --- filters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"collection": "ships-papers"}, {"The logbook"}),
        ({"type": "text/html"}, {"On &lt;script&gt;alert(1)&lt;/script&gt; tags"}),
        ({"language": "de"}, {"Urlaub"}),
        ({"before": "2001-01-01"}, set()),
        ({"after": "2001-01-01", "language": "de"}, {"Urlaub"}),
    ],
    ids=["collection", "type", "language", "before", "after"],
)
def test_filters_narrow_the_results(
    client: Client, filters: dict[str, Any], found: set[str]
) -> None:
    assert set(titles(ask(client, "connection pool", **filters))) == found


def test_a_search_keeps_its_filters_in_the_form_and_in_every_address(client: Client) -> None:
    html = ask(client, "barometer", collection="ships-papers", after="2001-01-01", group="false")

    assert 'value="ships-papers" checked' in html
    assert 'name="after" value="2001-01-01"' in html
    following = re.search(r'rel="next" href="([^"]+)"', html)
    assert following is not None
    kept = "collection=ships-papers&amp;after=2001-01-01&amp;group=false"
    assert following[1] == f"/?q=barometer&amp;{kept}&amp;page=2"


def test_facets_count_results_and_chips_remove_filters(client: Client) -> None:
    everything = ask(client)
    found = ask(client, "barometer", collection="ships-papers", type="text/markdown")

    counts = dict(re.findall(r'value="([^"]+)"[^>]*>\s*<span>[^<]*</span> <small>(\d+)<', found))
    assert counts == {"ships-papers": "1", "text/markdown": "1", "en": "1"}
    labels = re.compile(
        r'value="handbook">\s*<span>Handbook</span>(?: <small>(\d+)</small>)?</label>'
    )
    assert [held[1] for held in labels.finditer(found)] == [None]  # could be added
    assert [held[1] for held in labels.finditer(everything)] == ["4"]
    chips = found.split('<ul class="chips"')[1].split("</ul>")[0]
    assert re.findall(r'href="([^"]+)"', chips) == [
        "/?q=barometer&amp;type=text%2Fmarkdown",
        "/?q=barometer&amp;collection=ships-papers",
        "/?q=barometer",
    ]
    assert "Ship&#x27;s papers" in chips


def test_results_by_date_start_with_the_newest_relevant_document(
    client: Client, library: SimpleNamespace
) -> None:
    Document.objects.filter(pk=library.connections.pk).update(created="2020-01-01T00:00Z")
    Document.objects.filter(pk=library.urlaub.pk).update(created="2030-01-01T00:00Z")
    shelf = make_collection("Annex")
    text = "# Pool\n\nA pool of connections is bounded, and each connection has a timeout."
    new = make_document(shelf, text, file_name="pool.md")
    Document.objects.filter(pk=new.pk).update(created="2025-01-01T00:00Z")
    asked = "timeout of a connection in the pool"
    html = ask(client, asked, sort="date")

    order = titles(html)
    assert order.index("Pool") < order.index("Database connections")
    assert order.index("Database connections") < order.index("Urlaub")  # newest, and beside it
    assert '<b aria-current="true">Newest</b>' in html
    assert "sort=date" in html.split('rel="next"')[-1] or 'rel="next"' not in html
    assert sorted(order) == sorted(titles(ask(client, asked)))


# --- pages -------------------------------------------------------------------------------------


def test_result_numbers_continue_over_the_pages(client: Client) -> None:
    first, second = (ask(client, "barometer", group="false", page=page) for page in (1, 2))

    assert 'start="1"' in first
    assert 'rel="prev"' not in first
    assert 'start="11"' in second
    assert 'rel="prev" href="/?q=barometer&amp;group=false"' in second
    assert 'aria-current="page">2<' in second
    assert not set(places(first)) & set(places(second))


@pytest.mark.parametrize("page", ["0", "-1", "abc", "", "1e3", "٣٣٣٣٣٣٣٣٣٣٣", "9" * 5000])
def test_invalid_page_number_shows_the_first_page(client: Client, page: str) -> None:
    assert 'start="1"' in ask(client, "barometer", page=page)


def test_page_beyond_the_last_redirects_to_the_last(client: Client) -> None:
    beyond = {"q": "barometer", "group": "false", "page": "99999"}
    response = client.get("/", beyond, follow=True)

    html = response.content.decode()
    address = response.redirect_chain[-1][0]
    assert 'rel="next"' not in html
    assert f'aria-current="page">{address.rpartition("=")[2]}<' in html
    assert titles(html)


# --- without results ---------------------------------------------------------------------------


@pytest.mark.usefixtures("clean_cache")
def test_first_visit_shows_collections_and_working_examples(
    client: Client,
) -> None:
    text = text_of(ask(client))

    assert "Search 5 documents" in text
    assert "Handbook 4" in text
    assert "Ship&#x27;s papers 1" in text
    assert "Try one of these" not in text
    assert "Meaning 67 %" in text
    document = Document.objects.get(title="Database connections")
    made = [("where do I set connections", document.pk)]
    cache.set(examples.KEY, ("", 0.0, made))
    assert "Try one of these" in text_of(ask(client))

    found = re.findall(r'<li><a href="(/\?q=[^"]+)"', ask(client).split("Collections")[0])
    assert [unquote(address) for address in found] == ["/?q=where do I set connections"]


def test_page_without_results_gives_advice(client: Client) -> None:
    text = text_of(ask(client, "connection", before="1999-12-31"))

    assert "No results for “connection”" in text
    assert "Search without the filter" in text
    assert "Sign in" in text

    typed = ask(client, "collection:nope connection lang:ja")
    assert "No collection “nope” is available." in typed
    assert "No document in language “ja” is available." in typed
    assert 'href="/?q=connection">Search without the 2 filters' in typed
    upload(make_collection("Inbox"), "# Soon\n\nNot read.\n", file_name="soon.md")
    upload(make_collection("Hidden", visibility="groups"), "# No\n\nNot.\n", file_name="no.md")
    assert "One document is still being processed" in ask(client, "title:nope connection")


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"q": "long " * 801}, "the limit is 4000"),
        ({"q": "x", "type": "video/mp4"}, "No document of type “video/mp4” is available."),
        ({"q": "type:pdf"}, "No document of type “PDF” is available."),
        ({"q": "x", "language": "xx"}, "No document in language “xx” is available."),
        ({"q": "x", "after": "soon"}, "“From” is not a date. Write it like 2026-01-31."),
        ({"q": "x", "after": "2026-02-01", "before": "2026-01-01"}, "Swap the two dates."),
    ],
    ids=["too long", "type", "typed type", "language", "date", "dates reversed"],
)
def test_invalid_search_shows_the_reason(
    client: Client, parameters: dict[str, str], sentence: str
) -> None:
    response = client.get("/", parameters)

    html = response.content.decode()
    assert response.status_code == 400
    assert sentence in html
    assert f'value="{parameters["q"].strip()}"' in html


def test_page_without_an_active_profile_names_who_can_help(client: Client) -> None:
    SearchProfile.objects.filter(state="active").update(state="retired")
    SearchProfile.objects.first().save()  # type: ignore[union-attr]
    response = client.get("/", {"q": "connection"})

    assert response.status_code == 503
    assert "No search profile is active." in response.content.decode()


@pytest.mark.parametrize(
    "address",
    [
        "/?q=%00",
        "/?q=a%00b&collection=%00&language=%00",
        "/?q=%ED%A0%80",
        "/?q=%F0%9F%90%99%F0%9F%A7%AD",
        "/?q=%22unbalanced",
        "/?q=((%29%26%7C%21%3A*",
        "/?q=%25s+%25(x)s+%7B%7B+x+%7D%7D",
        "/?q=x&after=0001-01-01&before=9999-12-31",
        "/?q=x&profile=%00",
        "/?q=x&document=%00&group=%00",
        "/?q=x&profile=default@99999999999999999999",
        "/?q=" + "%F0%9F%90%99" * 501,
        "/?q=" + "x" * 20_000,
    ],
)
def test_odd_input_causes_no_error(client: Client, address: str) -> None:
    whole = client.get(address, follow=True)
    part = client.get(address, headers=HTMX, follow=True)

    assert whole.status_code in (200, 400)
    assert part.status_code == 200
    assert b'id="status"' in whole.content
    assert b'id="status"' in part.content


# --- htmx, markup, queries ---------------------------------------------------------------------


def test_htmx_gets_the_changed_parts_the_address_and_errors(client: Client) -> None:
    response = client.get(
        "/", {"q": "barometer", "collection": "ships-papers", "after": "", "page": ""}, headers=HTMX
    )

    html = response.content.decode()
    assert "<html" not in html
    assert html.startswith("<title>barometer · Steelyard</title>")
    assert response["HX-Push-Url"] == "/?q=barometer&collection=ships-papers"
    assert "HX-Request" in response["Vary"]
    assert titles(html)

    response = client.get("/", {"q": "x" * 4001}, headers=HTMX)

    assert response.status_code == 200
    assert "the limit is 4000" in response.content.decode()


def test_a_question_too_long_for_an_address_is_posted(client: Client) -> None:
    long = "connection " + "水泵站 " * 800
    response = client.post("/", {"q": long}, headers=HTMX)
    html = response.content.decode()
    assert response["HX-Push-Url"] == "false"
    assert titles(html)
    assert all(len(address) < 8000 for address in re.findall(r'href="(/documents[^"]*)"', html))
    whole = client.post("/", {"q": long})
    assert whole.status_code == 200
    assert long.strip() in whole.content.decode()


def test_a_page_of_ten_results_is_small(client: Client) -> None:
    """Packed, as the server sends what is static and a proxy the rest: at most 60 kB in all."""
    html = ask(client, "barometer at noon", group="false")
    addresses = re.findall(r'(?:src|href)="/static/([^"]+\.(?:css|js|svg))"', html)
    files = [finders.find(address) for address in addresses]
    assert len(results(html)) == 10
    assert len(files) >= 6
    sizes = {
        address: len(gzip.compress(Path(file).read_bytes(), 6))
        for address, file in zip(addresses, files, strict=True)
        if isinstance(file, str)
    }
    sizes["the page"] = len(gzip.compress(html.encode(), 6))
    assert sum(sizes.values()) <= 60_000, sizes


@pytest.mark.parametrize(
    ("parameters", "headers", "queries"),
    [
        ({"q": "connection"}, {}, 7),
        # The values that could be added are those of all documents.
        ({"q": "barometer", "collection": "ships-papers", "group": "false", "page": "2"}, {}, 7),
        ({"q": "connection", "sort": "date"}, {}, 8),
        ({"q": "connection"}, HTMX, 8),
        ({}, {}, 2),
    ],
    ids=["search", "filtered", "by date", "htmx", "welcome"],
)
def test_search_page_takes_this_number_of_queries(
    client: Client,
    django_assert_num_queries: DjangoAssertNumQueries,
    parameters: dict[str, str],
    headers: dict[str, str],
    queries: int,
) -> None:
    client.get("/", {"q": "warm"})
    # One looks the words up; the search is recorded by one, what may still be being typed by two.
    # One finds the concepts that the results share, if there are three documents, one counts
    # their facets.
    with django_assert_num_queries(queries):
        client.get("/", parameters, headers=headers)


def test_a_signed_in_reader_costs_a_session_a_user_their_stars_and_a_history_more(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries, reader: User
) -> None:
    client.force_login(reader)
    client.get("/", {"q": "warm"})
    # After the answer: whether the reader keeps a history, and its entry.
    with django_assert_num_queries(10 + 2):
        client.get("/", {"q": "connection"})


# --- The operators of a query on their way through the page, the API and a document's page -------


def test_page_names_optional_words_and_links_to_the_exact_search(client: Client) -> None:
    query = '"pool of sharks" connection'
    html = client.get("/", {"q": query}).content.decode()
    assert "No passage contains the exact words “pool of sharks”. Showing similar ones." in html
    assert 'href="/?q=%22pool+of+sharks%22+connection&amp;insist=1"' in html
    insisting = client.get("/", {"q": query, "insist": "1"}).content.decode()
    assert "No results for" in insisting
    assert 'href="/?q=%22pool+of+sharks%22+connection"' in insisting
    assert "Treat them as preferences" in insisting


def test_question_beyond_the_models_window_gets_a_note(api: APIClient) -> None:
    whole = api.post("/api/v1/search/", {"q": "connection pool " * 240}).json()
    assert not any("left out" in note for note in whole["notes"])
    cut = api.post("/api/v1/search/", {"q": "水" * 3000 + " the end of it"}).json()
    assert "Too long for matching by meaning: the last" in " ".join(cut["notes"])


def test_a_document_marks_the_words_and_leads_back_to_the_query(
    client: Client, library: SimpleNamespace
) -> None:
    address = library.connections.get_absolute_url()
    text = client.get(address, {"q": "pool -firewall title:database"}).content.decode()
    assert "<mark>pool</mark>" in text
    assert "<mark>firewall</mark>" not in text
    assert "q=pool%20-firewall%20title%3Adatabase" in text


# --- What the page and the API say of how sure an answer is -----------------------------------

API_SEARCH = "/api/v1/search/"
NOTICE = "Probably nothing here about"
PERHAPS = "These results may not answer your question."
KNOWN, UNKNOWN = "connection timeouts", "how do I train a parrot to whistle"


@pytest.fixture
def threshold() -> Any:
    def change(value: float) -> None:
        active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        active.confidence_threshold = value
        active.save()

    return change


def body_of(api: APIClient, query: str, **parameters: Any) -> dict[str, Any]:
    response = api.get(API_SEARCH, {"q": query, **parameters})
    assert response.status_code == 200, response.json()
    found: dict[str, Any] = response.json()
    return found


def test_the_api_names_the_words_that_no_document_contains(api: APIClient) -> None:
    assert body_of(api, UNKNOWN)["unknown_words"] == ["train", "parrot", "whistle"]
    assert body_of(api, KNOWN)["unknown_words"] == []


def test_low_confidence_shows_a_notice_with_advice(client: Client, threshold: Any) -> None:
    threshold(0.2)
    upload(make_collection("Inbox"), "# Soon\n\nNot read.\n", file_name="soon.md")
    html = ask(client, UNKNOWN)
    notice = re.search(r'<div class="panel nothing" role="note">.*?</div>', html, re.DOTALL)
    assert notice is not None
    assert NOTICE in notice[0]
    assert "Try other words" in notice[0]
    assert "filter" not in notice[0]
    assert "Probably nothing here about “train”, “parrot”, “whistle”" in notice[0]
    assert "contains any of these words" in notice[0]
    assert "One document is still being processed" in notice[0]
    # Before the nearest passages, which are folded, and without an answer that nobody asked for.
    folded = html.index('<details class="nearest-passages">')
    assert html.index(NOTICE) < folded < html.index('<li class="result">')
    assert "The nearest documents</summary>" in html
    assert "The nearest passages</summary>" in ask(client, UNKNOWN, group="false")
    # A number of results would contradict it.
    assert "<b>" not in html[html.index('id="status"') : html.index('id="beside"')]
    assert "Answer this" not in html


def test_high_confidence_or_no_threshold_shows_no_notice(client: Client, threshold: Any) -> None:
    threshold(0.2)
    assert NOTICE not in ask(client, KNOWN)

    threshold(0)
    assert NOTICE not in ask(client, UNKNOWN)


def test_further_pages_show_no_confidence_notice(client: Client, threshold: Any) -> None:
    threshold(1)
    asked = "what was written on the day of the barometer"
    assert PERHAPS in ask(client, asked, group="false")
    assert PERHAPS not in ask(client, asked, group="false", page=2)


def test_api_separates_confidence_of_answer_and_class(api: APIClient) -> None:
    known, unknown = body_of(api, KNOWN), body_of(api, UNKNOWN)
    assert 0 <= unknown["answer_confidence"] < 0.2 < known["answer_confidence"] <= 1
    assert unknown["class_confidence"] == unknown["confidence"]  # its name until 0.4
    assert known["confidence"] == body_of(api, KNOWN, page_size=1)["confidence"]


def test_confidence_is_the_same_on_every_page(api: APIClient, threshold: Any) -> None:
    threshold(0.95)
    asked = [body_of(api, KNOWN, page=n, page_size=size) for n, size in ((1, 1), (1, 50), (2, 2))]
    assert len({each["answer_confidence"] for each in asked}) == 1


def test_threshold_of_the_profile_decides_low_confidence(api: APIClient, threshold: Any) -> None:
    value = body_of(api, UNKNOWN, weights="vector:0.5,keyword:0.5")["answer_confidence"]
    for line, low in ((0, False), (value / 2, False), (value + 0.01, True)):
        threshold(line)
        assert body_of(api, UNKNOWN, weights="vector:0.5,keyword:0.5")["low_confidence"] is low


# --- languages ---------------------------------------------------------------------------------

# A request leaves its language to the thread, in which other tests follow.
in_english = translation.override("en")


@in_english
@pytest.mark.parametrize(
    ("accepted", "language", "heading", "why", "day"),
    [
        ("", "en", "Search 5 documents", "Closest in meaning; contains", "1999-07-19"),
        ("tlh", "en", "Search 5 documents", "Closest in meaning; contains", "1999-07-19"),
        ("de-AT,en", "de", "5 Dokumente", "Der Bedeutung nach am nächsten; enthält", "19.07.1999"),
        ("fr", "fr", "5 documents", "Le plus proche par le sens; contient", "19/07/1999"),
    ],
)
def test_a_page_is_in_the_browsers_language(
    client: Client, settings: Any, accepted: str, language: str, heading: str, why: str, day: str
) -> None:
    settings.ANSWERS_GENERATED = True  # a model's form has the filters of the search
    client.defaults |= {"HTTP_ACCEPT_LANGUAGE": accepted}
    response = client.get("/")
    assert f'<html lang="{language}">' in response.content.decode()
    assert heading in text_of(response.content.decode())
    assert "Accept-Language" in response["Vary"]
    html = ask(client, "connection timeouts", after="1999-07-19")
    assert why in text_of(html)
    assert f"{day} " in text_of(html.split('<ul class="chips"')[1])
    point = "." if language == "en" else ","
    assert re.search(rf'aria-label="\w+ 0\{point}\d{{3}}"', html)
    # What forms send and drawings measure is the same in every language.
    assert '<input type="hidden" name="after" value="1999-07-19">' in html
    assert not re.search(r'(?:x|y|width|height)="\d+,', html)


@in_english
def test_errors_are_in_the_readers_language_and_the_api_in_english(
    administrator: User,
) -> None:
    desk = Client(headers={"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"})
    desk.force_login(administrator)
    page = desk.get("/?q=pool after:soon").content.decode()
    assert "„after:soon“ ist kein Datum." in page
    assert "Seite nicht gefunden" in desk.get("/nowhere/").content.decode()
    refused = desk.get("/api/v1/search/?q=pool after:soon")
    assert "“after:soon” is not a date." in refused.json()["message"]
    assert "Accept-Language" not in refused.get("Vary", "")
    assert '<html lang="en"' in desk.get("/admin/ingestion/document/").content.decode()
    uploading = text_of(desk.get("/admin/ingestion/document/add/").content.decode())
    assert "Dateien wählen oder hier ablegen" in uploading
