"""Agents: the tools over MCP, in both protocol eras, and what outsiders never read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from knox.models import AuthToken
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from common.accounts import tokens
from common.accounts.models import User
from ingestion.models import Chunk, Document, Visibility
from search.analytics.models import SearchEvent
from search.mcp import Gate
from search.mcp.tool_results import Caller
from search.mcp.tools import build
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers", "clean_cache")]

T = TypeVar("T")
HIDDEN = "# Piratenschatz\n\n## Versteck\n\nThe doubloons PII-2031-7788 lie beneath the lagoon.\n"
MISSING = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def shown() -> Document:
    return make_document(make_collection(), CONNECTIONS, title="Connections")


@pytest.fixture
def hidden() -> Document:
    cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
    return make_document(cabin, HIDDEN)


def ask(
    work: Callable[[Client], Awaitable[T]], viewer: User | None = None, mode: str = "auto"
) -> T:
    """The result of `work` with the official client, in process."""

    async def run() -> T:
        server = build(lambda ctx: Caller(viewer, "https://kb.example.org/"))
        async with Client(server, mode=mode) as client:
            return await work(client)

    return async_to_sync(run)()


def call(
    tool: str, viewer: User | None = None, mode: str = "auto", **arguments: Any
) -> dict[str, Any]:
    """The JSON of a tool's one text item."""
    result = ask(lambda client: client.call_tool(tool, arguments), viewer, mode)
    assert not result.is_error, result.content
    (item,) = result.content
    return dict(json.loads(item.text))


def refused(tool: str, viewer: User | None = None, **arguments: Any) -> str:
    result = ask(lambda client: client.call_tool(tool, arguments), viewer)
    assert result.is_error
    (item,) = result.content
    return str(item.text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_search_and_fetch_have_the_form_of_chatgpts_connectors(shown: Document, mode: str) -> None:
    found = call("search", mode=mode, query="connection timeout")
    assert found.keys() == {"results", "evidence", "confidence"}
    (first, *_) = found["results"]
    assert first.keys() == {"id", "title", "url", "snippet", "date"}
    assert first["url"].startswith(f"https://kb.example.org/documents/{shown.public_id}/")
    fetched = call("fetch", mode=mode, id=first["id"])
    assert fetched.keys() == {"id", "title", "text", "url", "metadata"}
    assert fetched["id"] == first["id"]
    assert "timeout" in fetched["text"]
    assert fetched["metadata"]["document"] == str(shown.public_id)


def test_fetch_names_the_section_that_search_found() -> None:
    text = "# Settings\n\n## AGE_OF_LAMPS\n\nIn days.\n\n## HEIGHT_OF_LAMPS\n\nIn metres."
    document = make_document(make_collection(), text)
    (first,) = call("search", query="HEIGHT_OF_LAMPS")["results"]
    assert first["title"] == "Settings - HEIGHT_OF_LAMPS"
    assert first["id"] == f"{document.public_id}:0#height_of_lamps"
    fetched = call("fetch", id=first["id"])
    assert fetched["metadata"]["section"] == "Settings > HEIGHT_OF_LAMPS"
    assert fetched["url"] == first["url"]
    assert first["url"].endswith("?chunk=0#section-height_of_lamps")


def test_server_states_its_version() -> None:
    async def introduced(client: Client) -> Any:
        return client.server_info

    assert ask(introduced, mode="legacy").version == settings.VERSION


def test_every_tool_only_reads() -> None:
    tools = {tool.name: tool for tool in ask(lambda client: client.list_tools()).tools}
    assert tools.keys() == {"search", "fetch", "list_collections", "answer"}
    for tool in tools.values():
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
    for name, argument, others in (
        ("search", "query", {"collection", "abstain_below"}),
        ("fetch", "id", set()),
        ("answer", "query", {"mode", "collection", "rectangles", "abstain_below"}),
    ):
        schema = tools[name].input_schema
        assert schema["required"] == [argument]
        assert schema["properties"].keys() == {argument, *others}
        assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("search", {"query": "x", "collections": "pages"}, "Did you mean collection? Known are"),
        ("search", {"query": "x", "limit": 3}, "limit: There is no such argument."),
        ("fetch", {"id": MISSING, "max_chars": 9}, "max_chars: There is no such argument."),
        ("list_collections", {"limit": 3}, "limit: There is no such argument: none is read here."),
        ("answer", {"query": "x", "stream": True}, "stream: There is no such argument."),
        ("answer", {"query": "x", "question": "y"}, "question: There is no such argument."),
        ("answer", {"query": ""}, "query: String should have at least 1 character."),
    ],
)
def test_wrong_arguments_are_refused_by_name(
    tool: str, arguments: dict[str, Any], message: str
) -> None:
    assert message in refused(tool, **arguments)


def test_search_and_answer_look_in_the_named_collection_alone(shown: Document) -> None:
    other = make_document(make_collection("Other"), CONNECTIONS, title="Elsewhere")
    (only,) = call("search", query="connection timeout", collection="other")["results"]
    assert only["id"].startswith(str(other.public_id))
    answered = call("answer", query="How long is a connection timeout?", collection="other")
    assert {source["collection"] for source in answered["sources"]} == {"Other"}


def test_the_question_of_an_answer_may_have_its_name_of_0_2(shown: Document) -> None:
    answered = call("answer", question="How long is a connection timeout?")
    assert answered["text"] == call("answer", query="How long is a connection timeout?")["text"]


@pytest.mark.parametrize("tool", ["search", "answer"])
@pytest.mark.parametrize("collection", ["nope", "cabin"])
def test_an_unknown_collection_is_said_like_a_hidden_one(
    shown: Document, hidden: Document, tool: str, collection: str
) -> None:
    question = "connection timeout"
    slug = shown.collection.slug
    assert refused(tool, query=question, collection=collection) == (
        f"There is no collection “{collection}” that you may read. There are: {slug}."
    )
    said = "A collection that you named does not exist, or you may not read it."
    question += f" collection:{collection}"
    if tool == "search":
        assert refused(tool, query=question) == said
    else:
        assert said in call(tool, query=question)["notes"]


def test_a_document_is_read_whole_by_its_id(shown: Document) -> None:
    whole = call("fetch", id=str(shown.public_id))
    assert shown.current is not None
    assert whole["text"].split() == shown.current.text.split()


def test_a_disabled_passage_is_not_in_the_whole_text(shown: Document) -> None:
    Chunk.objects.filter(document=shown, text__contains="timeout").update(searchable=False)
    assert "timeout" not in call("fetch", id=str(shown.public_id))["text"]


def test_answer_cites_what_fetch_reads(shown: Document) -> None:
    answered = call("answer", query="How long is a connection timeout?")
    assert answered["state"] == "done"
    cited = next(source for source in answered["sources"] if source["cited"])
    assert f"[{cited['number']}]" in answered["text"]
    assert call("fetch", id=cited["id"])["metadata"]["document"] == str(shown.public_id)


def test_tool_errors_contain_advice(shown: Document) -> None:
    assert "Use an id that `search` returned" in refused("fetch", id="nonsense")
    assert "Ask in fewer words" in refused("search", query="x" * 5000)
    assert refused("answer") == "query: Field required."


@pytest.mark.parametrize("signed_in", [False, True])
def test_outsiders_find_no_trace_of_a_hidden_document(
    shown: Document, hidden: Document, reader: User, signed_in: bool
) -> None:
    viewer = reader if signed_in else None
    traces = ("Piratenschatz", "Versteck", "doubloons", "lagoon", "Cabin", str(hidden.public_id))

    def clean(found: dict[str, Any] | str) -> None:
        text = json.dumps(found)
        assert not [trace for trace in traces if trace in text]

    clean(call("search", viewer, query="pirates burying treasure PII-2031-7788"))
    clean(refused("search", viewer, query="treasure collection:cabin"))
    clean(call("list_collections", viewer))
    clean(call("answer", viewer, query="Where is the treasure of the pirates?"))
    for suffix in ("", ":0", ":99"):
        ours = refused("fetch", viewer, id=f"{hidden.public_id}{suffix}")
        theirs = refused("fetch", viewer, id=f"{MISSING}{suffix}")
        assert ours.replace(str(hidden.public_id), MISSING) == theirs


# --- over HTTP -----------------------------------------------------------------------------------


def over_http(
    work: Callable[[httpx2.AsyncClient], Awaitable[T]], headers: dict[str, str] | None = None
) -> T:
    """The result of `work` with an HTTP client of the running application."""

    async def run() -> T:
        app = Gate()
        # The lifespan in a task of its own, as servers run it.
        async with app._app.router.lifespan_context(app._app):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://testserver", headers=headers
            ) as client:
                return await work(client)

    return async_to_sync(run)()


def with_client(
    work: Callable[[Client], Awaitable[T]],
    headers: dict[str, str] | None = None,
    mode: str = "auto",
) -> T:
    async def run(http: httpx2.AsyncClient) -> T:
        transport = streamable_http_client("http://testserver/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            return await work(client)

    return over_http(run, headers)


PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def posted(**headers: str) -> httpx2.Response:
    named = {name: value.encode("latin-1") for name, value in (ACCEPT | headers).items()}
    return over_http(lambda http: http.post("/mcp", json=PING, headers=named))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_token_reads_as_its_user(hidden: Document, member: User, mode: str) -> None:
    _row, token = AuthToken.objects.create(user=member)
    result = with_client(
        lambda client: client.call_tool("search", {"query": "treasure of the pirates"}),
        {"Authorization": f"Bearer {token}"},
        mode,
    )
    (found,) = json.loads(result.content[0].text)["results"]
    assert found["id"].startswith(str(hidden.public_id))
    assert found["url"].startswith("http://testserver/documents/")
    (event,) = SearchEvent.objects.all()
    assert (event.channel, event.user) == ("mcp", member)


@pytest.mark.parametrize(("scope", "status"), [("read", 200), ("upload", 403), ("tune", 403)])
def test_a_token_needs_the_scope_read(member: User, scope: str, status: int) -> None:
    _row, token = tokens.make(member, scopes=[scope])
    response = posted(Authorization=f"Bearer {token}")
    assert response.status_code == status
    assert status == 200 or "Required scope: read" in response.text


def test_a_token_limited_to_collections_reads_no_others(
    shown: Document, hidden: Document, member: User
) -> None:
    limit = [shown.collection_id]
    _row, token = tokens.make(member, scopes=["read"], collections=limit)
    result = with_client(
        lambda client: client.call_tool("list_collections", {}),
        {"Authorization": f"Bearer {token}"},
    )
    (found,) = json.loads(result.content[0].text)["collections"]
    assert found["slug"] == shown.collection.slug


def test_without_a_token_an_agent_reads_what_visitors_may(
    shown: Document, hidden: Document
) -> None:
    result = with_client(lambda client: client.call_tool("list_collections", {}))
    (found,) = json.loads(result.content[0].text)["collections"]
    assert found["name"] == "Handbook"


@pytest.mark.parametrize("header", ["Bearer nonsense", "Bearer \xff", "Token nonsense", "Bearer "])
def test_a_wrong_token_is_not_an_anonymous_visitor(header: str) -> None:
    response = posted(Authorization=header)
    assert response.status_code == 401
    metadata = "http://testserver/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{metadata}"' in response.headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "elsewhere.example"}, 421),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://testserver"}, 200),
        ({"Origin": "https://kb.example.org"}, 200),
        ({}, 200),
    ],
)
def test_hosts_and_origins_are_checked(headers: dict[str, str], status: int, settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.org"]
    assert posted(**headers).status_code == status


def test_other_methods_and_too_many_requests_are_refused(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert over_http(lambda http: http.get("/mcp", headers=ACCEPT)).status_code == 405
    monkeypatch.setattr(
        "common.api.throttles.AnonymousThrottle.THROTTLE_RATES", {"anon": "2/min", "user": None}
    )
    assert [posted().status_code for _ in range(3)] == [200, 200, 429]
    settings.SECURE_SSL_REDIRECT = True
    assert posted().status_code == 403


def test_answers_are_limited_as_over_the_api(
    shown: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {"answers_anonymous": "1/min", "answers_user": None}
    monkeypatch.setattr("common.api.throttles.AnonymousAnswersThrottle.THROTTLE_RATES", rates)

    async def run(client: Client) -> list[Any]:
        asked = {"query": "connection timeout"}
        first, second = [await client.call_tool("answer", asked) for _ in range(2)]
        return [first, second, await client.call_tool("search", {"query": "timeout"})]

    first, second, search = with_client(run)

    assert [each.is_error for each in (first, second, search)] == [False, True, False]
    assert "Too many questions" in second.content[0].text


def test_malformed_requests_are_refused() -> None:
    """Bad input gives an error of the protocol, never a 500."""

    def raw(body: bytes) -> int:
        headers = ACCEPT | {"Content-Type": "application/json"}
        return over_http(lambda http: http.post("/mcp", content=body, headers=headers)).status_code

    for body in (b"", b"{", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"null"):
        assert 400 <= raw(body) < 500
    assert raw(b"{" * 300_000) == 413
