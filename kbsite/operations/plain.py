"""Pages for programs that are answered outside Django's threads and middleware."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a body and headers; nothing caches it."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_headers(self) -> dict[str, str]:
        length = str(len(self.body))
        return {"cache-control": "no-store", "content-length": length, **self.headers}


class Plain:
    """One page, as an ASGI application (`app`) and as a view of Django's (`view`)."""

    def __init__(self, answer: Callable[[Mapping[str, str]], Awaitable[Answer]]) -> None:
        self._answer = answer

    async def app(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Mapping[str, Any]]],
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        headers = {
            name.decode("latin-1"): each.decode("latin-1") for name, each in scope["headers"]
        }
        answer = await self._answer(headers)
        sent = [(name.encode(), each.encode()) for name, each in answer.all_headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": sent})
        body = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body})

    async def view(self, request: HttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        headers = {name.lower(): each for name, each in request.headers.items()}
        answer = await self._answer(headers)
        return HttpResponse(answer.body, status=answer.status, headers=answer.all_headers)
