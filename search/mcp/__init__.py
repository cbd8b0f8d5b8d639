"""Search for agents: an MCP server over HTTP, and the gate to it.

    request -> Gate (host, origin, token, rate) -> Caller -> tool -> tool_results.search(.., caller)

Each call runs as its caller, and every tool only reads. docs/agents.md describes it for users.

The SDK checks hosts too, but knows neither `.example.org` nor our proxy settings; here the rules
are those of the pages. It also refuses every call without a token, while search is open to all.
"""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError
from django.http.request import validate_host
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from rest_framework.exceptions import AuthenticationFailed
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, Response

from common.accounts import app_grants, tokens
from common.accounts.models import Scope as TokenScope
from common.accounts.models import User
from common.api.access import HOW_TO_SEND, TokenAuthentication
from common.api.throttles import seconds_to_wait
from search.mcp.tool_results import Caller
from search.mcp.tools import build

Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Any]]
Send: TypeAlias = Callable[[Any], Awaitable[None]]

PATH = "/mcp"
METADATA_PATH = f"{app_grants.METADATA}{PATH}"
# The scope that a token needs here: no tool writes.
READ = TokenScope.READ.value
MAX_BODY_BYTES = 256 * 1024
_CALLER = "steelyard.caller"


def is_for_agents(path: str) -> bool:
    """Whether a request path belongs to the MCP server."""
    return path.removesuffix("/") in (PATH, METADATA_PATH)


class Gate:
    """The MCP server's ASGI application; its lifespan can run once.

    It passes permitted requests, with their caller, on to the SDK's application.
    """

    def __init__(self) -> None:
        self._server = build(_caller)
        self._app: Any = self._server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            json_response=True,
            max_request_body_size=MAX_BODY_BYTES,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = ASGIRequest(scope, io.BytesIO())
        response = _refusal(request)
        if response is None and request.path.startswith(METADATA_PATH):
            described = app_grants.metadata(request, PATH, [READ])
            response = JSONResponse(described, headers={"Access-Control-Allow-Origin": "*"})
        elif response is None:
            response = await self._admit(request, scope)
        if response is not None:
            await response(scope, receive, send)
        elif "auth" in scope or not _is_open(request):
            guarded = Guarded(self._app, [READ], AnyHttpUrl(app_grants.metadata_url(request, PATH)))
            await AuthContextMiddleware(guarded)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _admit(self, request: ASGIRequest, scope: Scope) -> Response | None:
        """Put the caller into the scope; return a response if the request is refused."""
        if request.method != "POST":
            # The SDK would hold a GET open for messages, of which a server without sessions has
            # none.
            return PlainTextResponse("Use POST.", 405, {"Allow": "POST"})
        scope["path"] = PATH
        verifier = Verifier(request.build_absolute_uri(PATH))
        try:
            credentials = await BearerAuthBackend(verifier).authenticate(HTTPConnection(scope))
            request.user = verifier.user or AnonymousUser()
            wait = await sync_to_async(seconds_to_wait)(request, for_search=True)
        except DatabaseError:
            return PlainTextResponse("Unavailable. Try again in a minute.", 503)
        if wait:
            return PlainTextResponse("Too many requests.", 429, {"Retry-After": str(wait)})
        if credentials is not None:
            scope["auth"], scope["user"] = credentials
        base = request.build_absolute_uri("/")
        scope[_CALLER] = Caller(verifier.user, base, request)
        return None


class Guarded(RequireAuthMiddleware):
    """The SDK's refusals, with a sentence on the credentials to send."""

    async def _send_auth_error(
        self, send: Send, status_code: int, error: str, description: str
    ) -> None:
        message = HOW_TO_SEND.replace("`", "") if status_code == 401 else description
        await super()._send_auth_error(send, status_code, error, message)


class Verifier:
    """Verifies one request's token for the resource `url`; `user` is then its owner."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.user: User | None = None

    async def verify_token(self, token: str) -> AccessToken | None:
        """The verified token; None if it is unknown or expired, or its owner inactive."""
        known = await sync_to_async(_known)(token, self.url)
        if known is None:
            return None
        self.user, row, scopes = known
        return AccessToken(
            token=token, client_id=row.token_key, scopes=scopes, subject=str(self.user.pk)
        )


def _known(token: str, url: str) -> tuple[User, Any, list[str]] | None:
    """The token's user, limited to its collections, its row and its scopes; None if unknown."""
    try:
        user, row = TokenAuthentication().identify(token.encode(), url)
    except AuthenticationFailed:
        return None
    return user, row, sorted(tokens.admit(user, row))


def _caller(ctx: Context[Any, Any]) -> Caller:
    request: Any = ctx.request_context.request
    caller: Caller = request.scope[_CALLER]
    return caller


def _refusal(request: ASGIRequest) -> Response | None:
    """A response to a request for another host, from another site or without TLS."""
    try:
        request.get_host()
    except DisallowedHost:
        return PlainTextResponse("This host is not in ALLOWED_HOSTS.", 421)
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        return PlainTextResponse("Use https.", 403)
    origin = request.headers.get("Origin")
    if origin is not None and request.path != METADATA_PATH and not _is_own(origin, request):
        return PlainTextResponse("Requests from this origin are not permitted.", 403)
    return None


def _is_own(origin: str, request: ASGIRequest) -> bool:
    """Whether the origin is this site, or one of CSRF_TRUSTED_ORIGINS."""
    if origin == f"{request.scheme}://{request.get_host()}":
        return True
    try:
        parts = urlsplit(origin)
        host = parts.netloc.lower()
    except ValueError:
        return False
    trusted = (urlsplit(each) for each in settings.CSRF_TRUSTED_ORIGINS)
    return any(
        parts.scheme == each.scheme and validate_host(host, [each.netloc.lstrip("*")])
        for each in trusted
    )


def _is_open(request: ASGIRequest) -> bool:
    """Whether the request may be anonymous.

    Not with a wrong token: its sender expects to read as themselves.
    """
    return bool(settings.MCP_ANONYMOUS) and "Authorization" not in request.headers
