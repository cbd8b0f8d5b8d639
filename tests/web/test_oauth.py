"""OAuth 2.1: apps find this site, are let in by people, and read what those let them read."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import ssl
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import jwt
import pytest
import trustme
from allauth.idp.oidc.models import Client as App
from allauth.idp.oidc.models import Token
from asgiref.sync import async_to_sync, sync_to_async
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken
from mcp import Client as AgentsClient
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from common.accounts import app_grants, tokens
from common.accounts.models import User
from common.audit.models import Event
from ingestion.intake import import_web as web
from ingestion.intake.url_fetching import Policy
from ingestion.intake.url_guard import Guard, read_rules
from ingestion.models import Document, Visibility
from search.mcp import Gate, is_for_agents
from tests.support.admin_client import form_data, signed_in
from tests.support.factories import make_collection, make_document
from tests.support.local_site import Answer, local_site

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers", "clean_cache")]

SITE, BACK = "http://testserver", "https://connector.example/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()[:-1]
SEARCH = "/api/v1/search/?q=treasure+of+the+pirates"


@pytest.fixture(autouse=True)
def _on(settings: Any) -> None:
    settings.OAUTH, settings.MCP_ANONYMOUS = "registration", False


@pytest.fixture
def hidden() -> Document:
    cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
    return make_document(cabin, "# Treasure\n\nThe treasure of the pirates lies in the lagoon.\n")


class Connector:
    """An app as hosted assistants have them, with a secret or as a public client."""

    def __init__(self, method: str = "none", **stated: Any) -> None:
        self.http = Client()
        named = {"client_name": "Assistant", "redirect_uris": [BACK], "response_types": ["code"]}
        named |= {"grant_types": ["authorization_code", "refresh_token"]} | stated
        named["token_endpoint_auth_method"] = method
        self.answer = self.http.post("/oauth/clients", named, content_type="application/json")
        self.known: dict[str, Any] = self.answer.json()

    def ask(self, browser: Client, **fields: Any) -> Any:
        """The consent page, or what comes in its place."""
        asked = {
            "response_type": "code", "client_id": self.known.get("client_id"), "state": "s1",
            "redirect_uri": BACK, "scope": "read", "code_challenge": CHALLENGE,
            "code_challenge_method": "S256", "resource": f"{SITE}/mcp",
        } | fields  # fmt: skip
        asked = {name: value for name, value in asked.items() if value}
        return browser.get(f"/oauth/authorize?{urlencode(asked)}")

    def code(self, user: User, changes: Any = None, **fields: Any) -> str:
        """The code of the user's consent."""
        browser = signed_in(user)
        back = answered(browser, self.ask(browser, **fields), **changes or {})
        assert (back["state"], back["iss"]) == ("s1", SITE)
        return back["code"]

    def post(self, address: str = "/oauth/token", **fields: Any) -> Any:
        names = self.known.keys() & {"client_id", "client_secret"}
        return self.http.post(address, {name: self.known[name] for name in names} | fields)

    def exchange(self, code: str, **fields: Any) -> Any:
        fields = {"resource": f"{SITE}/mcp", "code_verifier": VERIFIER, "code": code} | fields
        fields = {name: value for name, value in fields.items() if value}
        return self.post(grant_type="authorization_code", redirect_uri=BACK, **fields)

    def tokens(self, user: User, changes: Any = None, **fields: Any) -> dict[str, Any]:
        """The tokens that the user's consent is worth."""
        code = self.code(user, changes, **fields)
        response = self.exchange(code, resource=fields.get("resource", f"{SITE}/mcp"))
        assert (response.status_code, response["Cache-Control"]) == (200, "no-store")
        return dict(response.json())

    def refresh(self, token: str, **fields: Any) -> Any:
        return self.post(grant_type="refresh_token", refresh_token=token, **fields)


def answered(browser: Client, page: Any, **changes: Any) -> dict[str, str]:
    """What the person's answer to the consent page sends back to the app."""
    response = browser.post("/oauth/authorize", posted(page) | changes)
    assert response["Location"].startswith(f"{BACK}?")
    return dict(parse_qsl(urlsplit(response["Location"]).query))


def posted(page: Any, **changes: Any) -> dict[str, Any]:
    return form_data(page, "consent") | {"action": "grant"} | changes


def is_refused(response: Any, error: str) -> bool:
    """Whether the response has this error, and a sentence for whoever wrote the app."""
    body = response.json()
    return (
        response.status_code == 400 and body["error"] == error and bool(body["error_description"])
    )


def api(token: str, address: str = SEARCH, method: str = "get") -> Any:
    return getattr(Client(headers={"Authorization": f"Bearer {token}"}), method)(address)


def later(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now() + timedelta(seconds=seconds)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)


class Both(httpx2.AsyncBaseTransport):
    """The whole site in process: the agents' server, and pages by Django's test client."""

    def __init__(self, gate: Gate) -> None:
        self._agents, self._pages = httpx2.ASGITransport(app=gate), Client()
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode()
        self.asked.append(f"{request.method} {path}")
        if is_for_agents(request.url.path):
            if is_described := path.startswith(app_grants.METADATA):
                request.headers["Origin"] = "https://app.example"  # an app that runs in a browser
            answered = await self._agents.handle_async_request(request)
            in_browsers = answered.headers.get("Access-Control-Allow-Origin") == "*"
            assert in_browsers == is_described
            return answered
        sent = {"content_type": request.headers.get("Content-Type", ""), "headers": request.headers}
        respond = partial(self._pages.generic, request.method, path, await request.aread(), **sent)
        answer = await sync_to_async(respond)()
        return httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)


def test_the_official_client_comes_from_an_address_to_a_private_search(
    hidden: Document, member: User
) -> None:
    browser, gate, back = signed_in(member), Gate(), {}
    stated = OAuthClientMetadata(client_name="Official", redirect_uris=[BACK])

    async def consented(address: str) -> None:
        page = await sync_to_async(browser.get)(address.removeprefix(SITE))
        assert "Let Official in?" in page.content.decode()
        back.update(await sync_to_async(answered)(browser, page))

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**back)

    async def nothing(*_: Any) -> None:
        """The client stores nothing, and begins with nothing."""

    names = ("get_tokens", "set_tokens", "get_client_info", "set_client_info")
    storage = SimpleNamespace(**dict.fromkeys(names, nothing))

    async def run() -> tuple[Any, list[str]]:
        async with gate._app.router.lifespan_context(gate._app):
            transport = Both(gate)
            auth = OAuthClientProvider(f"{SITE}/mcp", stated, storage, consented, callback)
            async with httpx2.AsyncClient(transport=transport, auth=auth) as http:
                stream = streamable_http_client(f"{SITE}/mcp", http_client=http)
                async with AgentsClient(stream) as client:
                    found = await client.call_tool("search", {"query": "treasure of the pirates"})
                    auth.context.token_expiry_time = 1  # an hour later: the client refreshes
                    await client.call_tool("list_collections", {})
            assert auth.context.current_tokens.scope == "read"
            return found, transport.asked

    found, asked = async_to_sync(run)()
    (first,) = json.loads(found.content[0].text)["results"]
    assert first["id"].startswith(str(hidden.public_id))
    assert asked[:5] == [
        "POST /mcp", "GET /.well-known/oauth-protected-resource/mcp",
        "GET /.well-known/oauth-authorization-server", "POST /oauth/clients", "POST /oauth/token",
    ]  # fmt: skip
    assert asked.count("POST /oauth/token") == 2


@pytest.mark.parametrize("method", ["none", "client_secret_post"])
def test_app_registers_gets_consent_and_refreshes(
    hidden: Document, member: User, method: str, settings: Any
) -> None:
    app = Connector(method)
    assert ("client_secret" in app.known) == (method != "none")
    first = app.tokens(member, resource="", scope="read openid")
    (key,) = app.http.get("/.well-known/jwks.json").json()["keys"]
    app_id = app.known["client_id"]
    said = jwt.decode(first["id_token"], jwt.PyJWK(key), audience=app_id, issuer=SITE)
    assert said["sub"] == str(member.pk)
    assert not said.keys() & {"email", "name", "preferred_username"}
    assert (settings.VAR_DIR / "oauth_key").stat().st_mode & 0o777 == 0o600
    (found,) = api(first["access_token"]).json()["results"]
    assert found["document"]["id"] == str(hidden.public_id)
    second = app.refresh(first["refresh_token"]).json()
    assert is_refused(app.refresh(first["refresh_token"]), "invalid_grant")
    assert api(second["access_token"]).json()["total"] == 1  # within seconds: a second try
    assert api(second["refresh_token"]).status_code == 401
    member.groups.clear()
    assert api(second["access_token"]).json()["total"] == 0


def test_discovery_documents_describe_the_server(settings: Any) -> None:
    http = Client()
    document = http.get("/.well-known/oauth-authorization-server").json()
    assert document == http.get("/.well-known/openid-configuration").json()
    assert (document["issuer"], document["code_challenge_methods_supported"]) == (SITE, ["S256"])
    assert document["scopes_supported"] == ["read", "upload", "tune", "administer", "openid"]
    places = [value for value in document.values() if str(value).startswith(f"{SITE}/")]
    statuses = [http.get(place[len(SITE) :]).status_code for place in places]
    assert (len(statuses), set(statuses) - {200, 400, 405}) == (5, set())
    for resource in ("", "/mcp", "/api", "/v1"):
        described = http.get(f"{app_grants.METADATA}{resource}").json()
        assert described["resource"] == SITE + resource
        assert described["authorization_servers"] == [SITE]
    assert http.get(f"{app_grants.METADATA}/admin").status_code == 404
    challenge = f'Bearer resource_metadata="{SITE}{app_grants.METADATA}/api"'
    assert api("x" * 64).headers["WWW-Authenticate"] == challenge
    settings.OAUTH = "off"
    assert {http.get(place[len(SITE) :]).status_code for place in places} == {404}
    assert api("x" * 64).headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("resource", "at_api", "at_v1"),
    [("/mcp/", 401, 401), ("/api", 200, 401), ("/v1", 401, 200), ("", 200, 200)],
)
def test_a_token_of_one_resource_is_refused_at_another(
    member: User, resource: str, at_api: int, at_v1: int
) -> None:
    token = Connector().tokens(member, resource=SITE + resource)["access_token"]
    response = api(token)
    assert response.status_code == at_api
    assert at_api == 200 or f"for {SITE}{resource.rstrip('/')}." in response.json()["message"]
    assert api(token, "/v1/models").status_code == at_v1
    if resource in ("", "/mcp/"):
        assert app_grants.grant_for(token, f"{SITE}/mcp").user == member
    else:
        with pytest.raises(tokens.InvalidToken, match=f"resource={SITE}/mcp"):
            app_grants.grant_for(token, f"{SITE}/mcp")


def test_refresh_cannot_widen_resources_or_scopes(member: User) -> None:
    app = Connector()
    assert "invalid_scope" in app.ask(signed_in(member), scope="read upload")["Location"]
    code = app.code(member)
    assert app.exchange(code, resource=f"{SITE}/api").json()["error"] == "invalid_target"
    refresh = app.exchange(code).json()["refresh_token"]
    for resource in (f"{SITE}/api", SITE, "https://elsewhere.example/", "http://["):
        assert app.refresh(refresh, resource=resource).status_code == 400
    assert app.refresh(refresh).status_code == 200
    App.objects.update(scopes="read\nupload\ntune")  # as an administrator enters an app
    asked = {"scope": "read upload", "resource": ""}
    narrow, wide = app.tokens(member, {"scopes": ["read"]}, **asked), app.tokens(member, **asked)
    assert app.refresh(narrow["refresh_token"], scope="read upload").status_code == 400
    refreshed = app.refresh(wide["refresh_token"], scope="read").json()
    for issued, reason in (
        (wide, "permission_denied"), (refreshed, "missing_scope"), (narrow, "missing_scope")
    ):  # fmt: skip
        response = api(issued["access_token"], "/api/v1/documents/", "post")
        assert response.json()["code"] == reason


def test_app_has_limits_quotas_and_audit_like_a_token(
    hidden: Document, member: User, settings: Any
) -> None:
    settings.QUOTAS_TOKEN = {**settings.QUOTAS_TOKEN, "searches": 1}
    app, browser, handbook = Connector(), signed_in(member), make_collection()
    token = app.tokens(member, {"collections": [handbook.pk]}, resource="")["access_token"]
    assert api(token).json()["total"] == 0
    assert api(token).status_code == 429
    (listed,) = api(token, "/api/v1/collections/").json()["results"]
    assert listed["slug"] == handbook.slug
    event = Event.objects.get(details__has_key="token_made")
    assert (event.user, event.details["token_made"]) == (member, "Assistant · connector.example")
    assert AuthToken.objects.get().grant.last_used is not None
    vault = make_collection("Vault", visibility=Visibility.GROUPS, groups=["others"])
    page = app.ask(browser)
    assert "Vault" not in page.content.decode()
    refused = browser.post("/oauth/authorize", posted(page, collections=[vault.pk, handbook.pk]))
    for shown in ("not one of", f'value="{handbook.pk}" checked'):
        assert shown in refused.content.decode()


@pytest.mark.parametrize("way", ["page", "app", "password", "signs out", "deactivated", "expiry"])
def test_connection_can_be_revoked(member: User, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app, browser = Connector(), signed_in(member)
    issued = app.tokens(member, resource="")
    assert "an app that you let in" in browser.get("/me/tokens/").content.decode()
    match way:
        case "page":
            browser.post(f"/me/tokens/{AuthToken.objects.get().token_key}/revoke/")
        case "app":
            assert app.post("/oauth/revoke", token=issued["refresh_token"]).status_code == 200
        case "password":
            member.set_password("another")
            member.save()
        case "deactivated":
            User.objects.filter(pk=member.pk).update(is_active=False)
        case "signs out":
            assert (
                api(issued["access_token"], "/api/v1/auth/token/self/", "delete").status_code == 204
            )
        case "expiry":
            later(tokens.default_days() * 86_400 + 1, monkeypatch)
    assert api(issued["access_token"]).status_code == 401
    assert app.refresh(issued["refresh_token"]).status_code == 400


def test_a_code_that_comes_again_ends_the_connection(member: User) -> None:
    app = Connector()
    code = app.code(member)
    issued = app.exchange(code).json()
    assert is_refused(app.exchange(code), "invalid_grant")
    assert api(issued["access_token"]).status_code == 401
    assert not AuthToken.objects.exists()


@pytest.mark.parametrize("copied", ["code", "refresh_token"])
def test_reused_refresh_token_ends_the_connection(
    member: User, copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Connector()
    code = app.code(member)
    first = app.exchange(code).json()
    second = app.refresh(first["refresh_token"]).json()
    later(120, monkeypatch)
    again = app.exchange(code) if copied == "code" else app.refresh(first["refresh_token"])
    assert is_refused(again, "invalid_grant")
    assert app.refresh(second["refresh_token"]).status_code == 400
    assert not AuthToken.objects.exists()


def test_the_consent_page_says_what_may_be_read(
    hidden: Document, member: User, settings: Any
) -> None:
    app, browser = Connector(client_name="Friend \u202e\x1b& Co"), signed_in(member)
    assert app.ask(Client())["Location"].startswith("/login/?next=/oauth/authorize")
    page = app.ask(browser)
    for said in ("Let Friend &amp; Co in?", ">connector.example<", "Cabin", "90 days", "Read: se"):
        assert said in page.content.decode()
    assert "form-action" not in page["Content-Security-Policy"]
    assert "no-store" in page["Cache-Control"]
    back = answered(browser, page, action="cancel")
    said = {"error_description": "The person did not let the app in."}
    assert back == {"error": "access_denied", "state": "s1", "iss": SITE} | said
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(member)
    assert careful.post("/oauth/authorize", posted(page)).status_code == 403
    User.objects.update(is_staff=True)
    settings.STAFF_SECOND_FACTOR = "all"
    assert "/2fa/" in browser.post("/oauth/authorize", posted(page)).content.decode()
    assert not AuthToken.objects.exists()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"code_challenge": ""}, "PKCE"), ({"code_challenge_method": "plain"}, "PKCE"),
        ({"prompt": "none"}, "prompt=none"), ({"client_id": "nobody"}, "does not know the app"),
        ({"client_id": "a\0b"}, "malformed"), ({"redirect_uri": "http://["}, "redirect"),
        ({"redirect_uri": "https://elsewhere.example/"}, "redirect"), ({"resource": "mcp"}, "URI"),
        ({"redirect_uri": f"{BACK}?more=1"}, "redirect"),
        ({"redirect_uri": BACK.replace("//", "//user@")}, "redirect"),
        # Which a browser takes for an address of elsewhere.example.
        ({"redirect_uri": BACK.replace("//", "//elsewhere.example\\@")}, "redirect"),
        ({"resource": "https://elsewhere.example/mcp"}, "is no resource of this site"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_granted_is_a_page(
    member: User, fields: dict[str, str], said: str
) -> None:
    response = Connector().ask(signed_in(member), **fields)
    assert (response.status_code, response.get("Location")) == (400, None)
    assert said.lower() in response.content.decode().lower()


def test_a_code_is_worth_nothing_without_its_secret(member: User) -> None:
    app, other = Connector(), Connector()
    code = app.code(member)
    assert is_refused(app.exchange(code, code_verifier="w" * 64), "invalid_grant")
    for fields in ({"code_verifier": "w" * 64}, {"code_verifier": ""}, {"client_id": "a\0"}):
        assert app.exchange(code, **fields).status_code in (400, 401)
    assert other.exchange(code).status_code == 400
    assert is_refused(app.post(grant_type="password"), "unsupported_grant_type")
    assert not Token.objects.filter(type__in=("at", "rt")).exists()


@pytest.mark.parametrize(
    "address",
    [
        "http://connector.example/back", "javascript:alert(1)", "https:///x", "https://*.example/",
        "https://a.example/#part", "/callback", "http://[", "https://a/\0", "https://a/\ud800",
        "https://elsewhere.example\\@a.example/", "view-source:https://a.example/",
        "ms-appinstaller:?source=https://a.example/", "search-ms:query=a", "feed:javascript:a",
        "jar:https://a.example/a!/", "filesystem:https://a.example/", "chrome://settings/",
        "intent://a#Intent;end", "ftp://a.example/", "mailto:a@a.example", "itms-services://a",
    ],
)  # fmt: skip
def test_app_with_an_invalid_redirect_address_is_refused(address: str) -> None:
    refused = Connector(redirect_uris=[BACK, address]).answer
    assert (refused.status_code, App.objects.count()) == (400, 0)


@pytest.mark.parametrize(
    "address",
    ["https://a.example/b", "http://127.0.0.1:1/b", "cursor://a/b", "vscode://a/b", "org.a.b:/c"],
)
def test_an_app_comes_back_by_its_own_scheme(address: str) -> None:
    assert Connector(redirect_uris=[address]).answer.status_code == 201


def test_an_entered_app_has_known_addresses_and_scopes(desk: Client, settings: Any) -> None:
    add = "/admin/allauth_idp_oidc/client/add/"
    app = {"name": "Desk", "type": "public", "redirect_uris": BACK, "scopes": "read\r\nopenid"}
    assert "OAUTH is off" not in desk.get(add).content.decode()
    for addresses in ("", "not a url", "javascript:alert(1)", f"{BACK}\r\nhttp://a.example/"):
        desk.post(add, app | {"redirect_uris": addresses})
    page = desk.post(add, app | {"scopes": "read\r\nfoo"}).content.decode()
    assert ("Unknown: foo" in page, App.objects.count()) == (True, 0)
    page = desk.post(add, app, follow=True).content.decode()
    assert ("client secret" in page, App.objects.get().get_scopes()) == (False, ["read", "openid"])
    desk.post(f"{add[:-4]}{App.objects.get().pk}/change/", app | {"type": "confidential"})
    (shown,) = re.findall(r'size.*? value="([^"]+)"', desk.get(add[:-4]).content.decode())
    assert App.objects.get().check_secret(shown)
    settings.OAUTH = "off"
    assert "OAUTH is off" in desk.get(add).content.decode()


def test_strangers_register_few_apps_and_only_readers(member: User, settings: Any) -> None:
    first = Connector(scope="read tune administer", junk="x" * 5000)
    assert (first.known["scope"], App.objects.get().data) == ("read openid", {"dcr": True})
    first.tokens(member)
    later = [Connector().answer for _ in range(3)]
    assert [each.status_code for each in later] == [201, 201, 429]
    assert later[-1]["Retry-After"] == "60"
    App.objects.update(created_at=timezone.now() - timedelta(days=2))
    Token.objects.update(expires_at=timezone.now())
    assert app_grants.forget() == 5  # the code, both tokens, and the two apps that nobody let in
    settings.OAUTH = "documents"
    assert Client().post("/oauth/clients").status_code == 404


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A site for the description of an app, the only one that may be fetched."""
    authority = trustme.CA()
    tls, trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.configure_trust(trust)
    with local_site(tls) as site:
        guard = Guard(allow=read_rules([f"127.0.0.1:{site.port}"]))
        monkeypatch.setattr(web, "policy", lambda: Policy(guard=guard, tls=trust))
        yield site


def test_an_apps_id_is_the_address_of_its_description(
    described: Any, member: User, settings: Any
) -> None:
    app, app_id, browser = Connector(), described.url("/app.json"), signed_in(member)
    stated = {"client_id": app_id, "client_name": "Described"}
    stated["redirect_uris"] = [BACK, "http://localhost/callback"]
    described.routes["/app.json"] = Answer(json.dumps(stated).encode())
    settings.OAUTH, app.known = "documents", {"client_id": app_id}
    assert app.ask(Client()).status_code == 302
    assert described.paths == []  # nobody has signed in
    assert api(app.tokens(member, resource="")["access_token"]).status_code == 200
    page = app.ask(browser, redirect_uri="http://localhost:53123/callback")
    assert "Let Described in?" in page.content.decode()
    for back in ("http://localhost:1/callback?more=1", "https://localhost/callback"):
        assert app.ask(browser, redirect_uri=back).status_code == 400
    assert described.paths == ["/app.json"]  # once an hour
    App.objects.all().delete()
    settings.OAUTH = "clients"
    assert "does not know the app" in app.ask(browser).content.decode()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(b'{"client_id": "https://other.example/app"}'), "does not match"),
        (Answer(b"[" * 8000), "cannot be used"), (Answer(b"x" * 9000), "cannot be used"),
        (Answer(status=302, headers={"Location": "https://other.example/"}), "redirects"),
        (None, "is not allowed"),
    ],
)  # fmt: skip
def test_invalid_client_description_is_refused(
    described: Any, member: User, answer: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if answer is None:
        monkeypatch.undo()  # as sites are: no internal address
    described.routes["/app.json"] = answer
    page = Connector().ask(signed_in(member), client_id=described.url("/app.json"))
    assert page.status_code == 400
    assert said in page.content.decode()
