"""WhiteNoise and compression as this site needs them: asynchronous, and streams left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

_PACKED = ("text/html", "text/plain", "application/json", "application/vnd.oai.openapi")


class Compressed(GZipMiddleware):
    """Django's gzip for pages and JSON; not for streams, downloads and pictures.

    It pads each response by a random length, and CSRF tokens are masked: what BREACH measures, the
    length of a secret beside a guess, is not there.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        is_packed = response.get("Content-Type", "").startswith(_PACKED)
        is_file = response.get("Content-Disposition", "").startswith("attachment")
        if response.streaming or not is_packed or is_file:
            return response
        return super().process_response(request, response)


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, async as well: a synchronous middleware holds a thread while a view waits."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[..., Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._served(request) if iscoroutinefunction(self) else super().__call__(request)

    async def _served(self, request: HttpRequest) -> Any:
        if self.autorefresh:
            found = await sync_to_async(self.find_file)(request.path_info)
        else:
            found = self.files.get(request.path_info)
        if found is None:
            return await self.get_response(request)
        return await sync_to_async(self.serve)(found, request)
