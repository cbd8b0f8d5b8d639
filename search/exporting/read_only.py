"""READ_ONLY=1: nothing can be changed over HTTP, and there is no admin and no signing in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _

from common.api.errors import body

READING = {"GET", "HEAD", "OPTIONS"}
# Posted, because questions are long; they change nothing.
QUESTIONS = (
    "/answers/", "/answers/stream/", "/api/v1/search/", "/api/v1/answers/", "/v1/chat/completions",
    "/v1/embeddings",
)  # fmt: skip
CLOSED = ("/admin/", "/accounts/", "/login/", "/logout/")


class ReadOnly:
    """Refuses what would change something; not in use without READ_ONLY."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        if not settings.READ_ONLY:
            raise MiddlewareNotUsed
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        return _refusal(request) or self._get_response(request)


def _refusal(request: HttpRequest) -> HttpResponseBase | None:
    """The response to a request that would change something; None to all others."""
    path = request.path_info
    if path.startswith(CLOSED):
        raise Http404
    if request.method in READING or path == "/" or path in QUESTIONS:
        return None
    message = _("This server is read-only: nothing can be changed here.")
    return JsonResponse(body("read_only", message), status=403)
