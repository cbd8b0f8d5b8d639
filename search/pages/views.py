"""The views of readers: search, a document, a section, the original file, interactions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ingestion.files.storage import download
from ingestion.models import Document
from search import pipeline
from search.analytics.interactions import record_interaction
from search.analytics.models import SearchEvent
from search.analytics.recording import new_search_id, record_search
from search.domain import Signal
from search.errors import InteractionRefused, NoActiveProfile, SearchError, UnknownSearch
from search.pages.facets import examples_for, facets_for, language_label, metadata_shown, type_label
from search.pages.forms import InteractionForm, SearchForm, page_links
from search.pipeline import Choices, SearchResponse
from search.presentation.reading import parts_of, passages_of
from search.presentation.sections import section_around
from search.query.parse import asked_words, clean_text
from search.tuning.experiments.running import participant

DEGRADED = {
    Signal.VECTOR: _("Meaning-based matching is unavailable; showing keyword and title matches."),
    Signal.KEYWORD: _("Keyword matching is unavailable; showing other matches."),
    Signal.TITLE: _("Title matching is unavailable; showing other matches."),
    Signal.RECENCY: _("Recency is unavailable; showing matches without it."),
    Signal.SYNONYM: _("Synonyms are unavailable; showing other matches."),
}


class _PageResponse(HttpResponse):
    """A response that calls `after_sending` once sent, so that readers do not wait for it."""

    after_sending: Callable[[], None] | None = None

    def close(self) -> None:
        try:
            if self.after_sending is not None:
                self.after_sending()
        finally:
            super().close()


# Posted are questions that are too long for an address. A search changes nothing, and readers who
# are not signed in have no cookie for a token.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """The search page; for htmx only the parts that a new query changes."""
    facets = cache(lambda: facets_for(request.user))
    form = SearchForm(request.POST if request.method == "POST" else request.GET, facets)
    context: dict[str, Any] = {"form": form, "facets": facets, "problems": (), "status": 200}
    if form.is_valid():
        context |= _search(request, form)
    else:
        context |= {"problems": form.problems, "status": 400}
    response: SearchResponse | None = context.get("response")
    if response is None:
        return _rendered(request, form, context)
    if response.page > response.pages:
        return redirect(form.address(page=response.pages))
    context["search_id"] = search_id = new_search_id(request, response)
    rendered = _rendered(request, form, context)
    record = partial(
        record_search,
        request,
        response,
        search_id,
        channel=SearchEvent.Channel.PAGE,
        collections=form.filters.collections,
        typing=bool(request.htmx),  # type: ignore[attr-defined]
    )
    rendered.after_sending = record
    return rendered


def _search(request: HttpRequest, form: SearchForm) -> dict[str, Any]:
    cleaned = form.cleaned_data
    try:
        response = pipeline.search(
            form.query,
            viewer=request.user,
            filters=form.filters,
            choices=Choices(
                profile=cleaned["profile"],
                exact=bool(cleaned["exact"]),
                insist=bool(cleaned["insist"]),
            ),
            group=form.groups,
            page=cleaned["page"],
            takes_part=participant(request),
        )
    except NoActiveProfile as error:
        return {"problems": (str(error),), "status": 503}
    except SearchError as error:
        return {"problems": (str(error),), "status": 400}
    if response.query.is_empty:
        return {"response": response, "examples": examples_for(request.user)}
    return {
        "response": response,
        "degraded": [DEGRADED[signal] for signal in response.degraded],
        "suggestion": form.address(q=response.suggestion, exact=None),
        "links": page_links(response, form.address),
    }


def _rendered(request: HttpRequest, form: SearchForm, context: dict[str, Any]) -> _PageResponse:
    swaps = bool(request.htmx)  # type: ignore[attr-defined]
    template = "search/found.html" if swaps else "search/page.html"
    # htmx only swaps successful responses; the fragment itself contains the error message.
    content = render_to_string(template, context, request)
    rendered = _PageResponse(content, status=200 if swaps else context["status"])
    if swaps:
        rendered["HX-Push-Url"] = "false" if form.is_long else form.address()
    # The address has a page and a fragment; caches must not mix them, nor different readers.
    patch_vary_headers(rendered, ("HX-Request", "Cookie"))
    patch_cache_control(rendered, private=True, no_cache=True)
    return rendered


# The search's id replaces the CSRF token: only its searcher knows it, and it is valid for that
# searcher only. Readers who are not signed in therefore need no cookie.
@csrf_exempt
@require_POST
def interact(request: HttpRequest, search_id: UUID) -> HttpResponse:
    """Record an interaction with a search; respond with a page to browsers without scripts."""
    form = InteractionForm(request.POST)
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return HttpResponse(status=403)
    if not form.is_valid():
        return HttpResponse(gettext("Invalid report."), status=400, content_type="text/plain")
    said = form.said
    try:
        record_interaction(request, search_id, said)
    except UnknownSearch as error:
        raise Http404 from error
    except InteractionRefused as error:
        return HttpResponse(str(error), status=400, content_type="text/plain")
    back = form.cleaned_data["back"]
    if not back.startswith(f"{reverse('search:page')}?"):
        return HttpResponse(status=204)
    context = {"said": said, "back": back, "search_id": search_id}
    return render(request, "search/noted.html", context)


@require_safe
def document(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """A document's text around the requested passage. Hidden and missing documents are both 404."""
    shown = _document(request, public_id)
    query = clean_text(request.GET.get("q", ""))[: settings.SEARCH_QUERY_CHARS]
    asked = request.GET.get("chunk", "")
    number = int(asked) if asked.isdecimal() and len(asked) < 10 else None
    reading = passages_of(shown, viewer=request.user, asked=number, words=asked_words(query))
    version = shown.current or shown.latest
    context = {
        "document": shown,
        "parts": parts_of(shown, viewer=request.user) if getattr(shown, "part_count", 0) else None,
        "version": version,
        "reading": reading,
        "q": query,
        "metadata": metadata_shown(shown.metadata),
        "type": type_label(version.media_type) if version else "",
        "language": language_label(shown.language) if shown.language else "",
    }
    return render(request, "search/document.html", context)


@require_safe
def section(request: HttpRequest, public_id: UUID, ordinal: int) -> HttpResponse:
    """The section around a passage, as a fragment; without scripts, a redirect to the document."""
    query = clean_text(request.GET.get("q", ""))[: settings.SEARCH_QUERY_CHARS]
    if not request.htmx:  # type: ignore[attr-defined]
        asked = urlencode({"chunk": ordinal, **({"q": query} if query else {})})
        address = reverse("search:document", args=(public_id,))
        return redirect(f"{address}?{asked}#chunk-{ordinal}")
    shown = _document(request, public_id)
    around = section_around(shown, ordinal, viewer=request.user, words=asked_words(query))
    if around is None:
        raise Http404
    context = {"document": shown, "around": around, "q": query}
    response = render(request, "search/parts/section.html", context)
    patch_vary_headers(response, ("HX-Request", "Cookie"))
    patch_cache_control(response, private=True, no_cache=True)
    return response


@require_safe
def original(request: HttpRequest, public_id: UUID) -> FileResponse:
    """The original file of the text shown, always as a download."""
    shown = _document(request, public_id)
    version = shown.current or shown.latest
    if version is None:
        raise Http404
    return download(version)


def _document(request: HttpRequest, public_id: UUID) -> Document:
    """The document with the rows that its page shows, without the (possibly huge) texts."""
    documents = (
        Document.objects.visible_to(request.user)
        .with_part_count()
        .select_related("collection", "current", "latest", "parent")
        .defer("title_terms", "parent__title_terms", "current__text", "latest__text")
    )
    return get_object_or_404(documents, public_id=public_id)
