"""Suggestions for the search box and for browsers, and the description that browsers read."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote, urlencode

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from common.api.requests import Rank, actor, states
from search.readers.suggestions import Suggested, Suggestion, SuggestionsThrottle, suggest

CONTENT_TYPE = "application/x-suggestions+json"


@require_safe
@states(rank=Rank.AGENT)
def suggestions(request: HttpRequest) -> HttpResponse:
    """The typed text, the suggestions, a description of each, and their addresses.

    Four lists by place, as OpenSearch's extension for suggestions defines them. A title or a
    heading has the address of its document or section, any other text that of its search. A
    heading is described by its document's title, the others by their kinds.
    """
    if SuggestionsThrottle.is_off():
        raise Http404
    throttle = SuggestionsThrottle()
    if not throttle.allow_request(cast("Any", request), None):
        return HttpResponse(status=429, headers={"Retry-After": f"{throttle.wait() or 60:.0f}"})
    typed = request.GET.get("q", "")
    reader = actor(request) if request.user.is_authenticated else None
    collections = [slug for slug in request.GET.getlist("collection") if "\0" not in slug]
    suggestions = suggest(typed, request.user, collections, reader=reader)
    texts = [each.text for each in suggestions]
    described = [_description(each) for each in suggestions]
    addresses = [request.build_absolute_uri(_address(each)) for each in suggestions]
    response = JsonResponse(
        [typed, texts, described, addresses], safe=False, content_type=CONTENT_TYPE
    )
    patch_cache_control(response, private=True, no_store=True)
    return response


def _description(suggestion: Suggestion) -> str:
    is_heading = suggestion.kind is Suggested.HEADING
    return suggestion.title if is_heading else str(suggestion.kind.label)


def _address(suggestion: Suggestion) -> str:
    if suggestion.document is None:
        return f"{reverse('search:page')}?{urlencode({'q': suggestion.text})}"
    address = reverse("search:document", args=(suggestion.document,))
    if suggestion.kind is Suggested.TITLE:
        return address
    return f"{address}?chunk={suggestion.chunk}#section-{quote(suggestion.anchor)}"


@require_safe
def description(request: HttpRequest) -> HttpResponse:
    """The OpenSearch description: how a browser searches this site from its address bar."""
    context = {
        "site": request.build_absolute_uri("/").removesuffix("/"),
        "suggests": not SuggestionsThrottle.is_off(),
        "suggestions_type": CONTENT_TYPE,
    }
    return render(
        request,
        "search/opensearch.xml",
        context,
        content_type="application/opensearchdescription+xml",
    )
