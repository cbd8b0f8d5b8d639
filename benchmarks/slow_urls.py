"""The addresses of `benchmarks.slow_site`."""

from __future__ import annotations

from django.http import HttpRequest, StreamingHttpResponse
from django.urls import include, path

from benchmarks.slow_site import frames


def slow(request: HttpRequest) -> StreamingHttpResponse:
    content = frames(request.GET["q"])
    return StreamingHttpResponse(content, content_type="text/event-stream")


urlpatterns = [path("slow/", slow), path("", include("kbsite.urls"))]
