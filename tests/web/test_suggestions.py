"""Suggestions while typing, of what the reader may find alone; and the address bar's search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client
from knox.models import AuthToken
from rest_framework.throttling import SimpleRateThrottle

from common.accounts.models import User
from ingestion.models import Document, Visibility
from search.models import Hide
from search.readers import history
from search.readers.suggestions import suggest
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

HANDBOOK = """# Rate limits of the server

## Rate limits per address

An address may ask thirty times. Error PII-2031-7788 says so.

## Straßen für José Peña

Nobody waits there.

## Ratings

Nobody rates anything by PII-2031-7790.
"""


@pytest.fixture(scope="module", autouse=True)
def handbook(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with lasting(django_db_blocker):
        make_document(make_collection("Handbook"), HANDBOOK, file_name="limits.md")
        plans = make_collection("Plans", visibility=Visibility.SIGNED_IN)
        make_document(plans, "# Rates of next year\n\nThey rise.\n", file_name="rates.md")
        yield


def told(typed: str, viewer: User | None = None, *slugs: str, **more: Any) -> list[tuple[str, str]]:
    return [(each.kind.value, each.text) for each in suggest(typed, viewer, slugs, **more)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        pytest.param(
            "rat",
            [("title", "Rate limits of the server"), ("heading", "Ratings"),
             ("heading", "Rate limits per address")],
            id="a word's beginning, those that begin with it and the shortest first",
        ),
        pytest.param(
            "limits per ad", [("heading", "Rate limits per address")], id="words in between"
        ),
        pytest.param("ate li", [], id="not within words"),
        pytest.param("per ratings", [], id="words of two headings of one passage"),
        pytest.param(
            "pii-2031-77",
            [("identifier", "PII-2031-7788"), ("identifier", "PII-2031-7790")],
            id="an identifier as it is written",
        ),
        pytest.param("2031-779", [("identifier", "PII-2031-7790")], id="by its last parts"),
        pytest.param("jose pen", [("heading", "Straßen für José Peña")], id="without accents"),
        pytest.param("strassen fuer", [("heading", "Straßen für José Peña")], id="written out"),
        pytest.param("Ratings", [("heading", "Ratings")], id="a whole heading is a result"),
        pytest.param("PII-2031-7790", [], id="not the search that was typed"),
        pytest.param("r", [], id="one letter"),
        pytest.param(" \x00&':*!|()\\ ", [], id="what means something to Postgres"),
        pytest.param("rat" * 100, [], id="too long"),
    ],
)  # fmt: skip
def test_typed_text_gets_these_suggestions(typed: str, expected: list[tuple[str, str]]) -> None:
    assert told(typed) == expected


def test_suggestions_come_from_the_named_collections(reader: User) -> None:
    make_document(make_collection("Fees"), "They are low.", title="Rates now")
    assert told("rates", reader) == [("title", "Rates now"), ("title", "Rates of next year")]
    assert told("rate", reader, "plans") == [("title", "Rates of next year")]
    assert told("rate", None, "plans") == []


def test_a_hidden_document_and_a_disabled_passage_are_not_suggested() -> None:
    document = Document.objects.get(title="Rate limits of the server")
    Hide.objects.create(document=document)
    assert told("rat") == []
    Hide.objects.all().delete()
    document.chunks.update(searchable=False)
    assert told("rat") == told("pii-2031") == []


def test_a_reader_s_own_searches_come_first(reader: User, client: Client) -> None:
    asked = "how are rate limits counted"
    client.force_login(reader)
    client.get("/", {"q": asked})
    client.get("/", {"q": "tides"})

    assert told("rate", reader, reader=reader)[0] == ("history", asked)
    assert ("history", asked) not in told("rate", User.objects.create_user("bo"))
    other = User.objects.create_user("eve")
    assert told("how are", other, reader=other) == []
    assert client.get("/suggestions/", {"q": "how a"}).json()[1] == [asked]
    assert Client().get("/suggestions/", {"q": "how a"}).json()[1] == []

    history.switch_history(reader, keeps=False)
    assert told("how are", reader, reader=reader) == []


def test_a_token_does_not_read_its_user_s_searches(reader: User, client: Client) -> None:
    client.force_login(reader)
    client.get("/", {"q": "tariff of tides"})
    token = AuthToken.objects.create(user=reader)[1]
    own = client.get("/api/v1/suggestions/", {"q": "tari"}).json()
    by_token = Client().get(
        "/api/v1/suggestions/", {"q": "tari"}, headers={"authorization": f"Bearer {token}"}
    )

    assert own == {"suggestions": [{"kind": "history", "text": "tariff of tides"}]}
    assert by_token.json() == {"suggestions": []}


def test_few_queries_for_a_reader_and_fewer_for_a_visitor(
    reader: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    told("rate")
    with django_assert_num_queries(2):  # the configuration's stamp, and the matches
        told("rate")
    with django_assert_num_queries(4):  # whether a history is kept, and the history
        told("rate", reader, reader=reader)


def test_browsers_get_addresses_and_kinds_in_the_reader_s_language(client: Client) -> None:
    response = client.get("/suggestions/", {"q": "ratin"}, headers={"accept-language": "de"})

    assert response["Content-Type"] == "application/x-suggestions+json"
    assert response["Cache-Control"] == "private, no-store"
    typed, texts, kinds, addresses = response.json()
    assert (typed, texts, kinds) == ("ratin", ["Ratings"], ["Rate limits of the server"])
    page = client.get(addresses[0]).content.decode()
    assert f'id="{addresses[0].partition("#")[2]}"' in page

    _, texts, kinds, addresses = client.get(
        "/suggestions/", {"q": "rate"}, headers={"accept-language": "de"}
    ).json()
    assert (texts[0], kinds[0]) == ("Rate limits of the server", "Titel")
    assert "Rate limits of the server</h1>" in client.get(addresses[0]).content.decode()
    identifiers = client.get("/suggestions/", {"q": "pii-2031-77"}).json()
    assert identifiers[3][0] == "http://testserver/?q=PII-2031-7788"


def test_one_heading_in_two_documents_is_told_apart(client: Client) -> None:
    library = make_collection("Fees")
    for year in (2025, 2026):
        make_document(
            library, f"# Fees {year}\n\n## Refunds of fees\n\nNone.\n", file_name=f"{year}.md"
        )
    make_document(
        make_collection("Board", visibility=Visibility.SIGNED_IN),
        "# Plans\n\n## Refunds of fees\n\nSecret.\n",
    )
    _, texts, titles, addresses = client.get("/suggestions/", {"q": "refunds"}).json()

    assert texts == ["Refunds of fees"] * 2
    assert titles == ["Fees 2025", "Fees 2026"]
    assert len({*addresses}) == 2


def test_suggestions_have_their_own_rate_limit(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "suggestions", "1/min")
    assert client.get("/suggestions/", {"q": "rat"}).status_code == 200
    refused = client.get("/suggestions/", {"q": "rat"})
    assert (refused.status_code, int(refused["Retry-After"]) > 0) == (429, True)
    assert client.get("/api/v1/suggestions/", {"q": "rat"}).status_code == 429
    assert client.get("/", {"q": "rate"}).status_code == 200
    assert 'data-suggestions="/suggestions/"' in client.get("/").content.decode()

    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "suggestions", "0/min")
    assert client.get("/suggestions/", {"q": "rat"}).status_code == 404
    assert "suggestions" not in client.get("/").content.decode()
    assert b"suggestions" not in client.get("/opensearch.xml").content


def test_opensearch_description_links_search_and_suggestions(client: Client) -> None:
    assert '<link rel="search" href="/opensearch.xml"' in client.get("/").content.decode()
    response = client.get("/opensearch.xml", secure=True)

    assert response["Content-Type"] == "application/opensearchdescription+xml"
    root = ElementTree.fromstring(response.content)
    space = "{http://a9.com/-/spec/opensearch/1.1/}"
    assert len(root.findtext(f"{space}ShortName") or "") in range(1, 17)
    templates = {url.get("type"): url.get("template", "") for url in root.iter(f"{space}Url")}
    for kind in ("text/html", "application/x-suggestions+json"):
        address = templates[kind].replace("{searchTerms}", "ratin")
        assert address.startswith("https://testserver/")
        assert client.get(address, secure=True)["Content-Type"].startswith(kind)
