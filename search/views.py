"""The reader's pages: search, a document, its original file. They translate and call."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.views.decorators.http import require_safe

from ingestion.models import Document
from search import paging, pipeline, suggestions
from search.domain import Signal
from search.errors import NoActiveProfile, SearchError
from search.facets import facets_for, language_label, type_label
from search.forms import SearchForm
from search.pipeline import Choices, SearchResponse
from search.query import MAX_QUERY_CHARS
from search.query.parse import asked_words, clean_text
from search.reading import passages_of

# Endings of media types that a browser might run.
RUNNABLE = ("html", "/xml", "+xml", "javascript")
DEGRADED = {
    Signal.VECTOR: "Meaning-based matching is unavailable; showing keyword and title matches.",
    Signal.KEYWORD: "Keyword matching is unavailable; showing other matches.",
    Signal.TITLE: "Title matching is unavailable; showing other matches.",
    Signal.RECENCY: "The age of documents is unknown; showing matches without it.",
    Signal.SYNONYM: "Synonyms are unavailable; showing other matches.",
}


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The search page; for htmx only what a new query changes of it."""
    facets = cache(lambda: facets_for(request.user))
    form = SearchForm(request.GET, facets)
    context: dict[str, Any] = {"form": form, "facets": facets, "problems": (), "status": 200}
    if form.is_valid():
        context |= _search(request, form)
    else:
        context |= {"problems": form.problems, "status": 400}
    response: SearchResponse | None = context.get("response")
    if response is not None and response.page > response.pages:
        return redirect(form.address(page=response.pages))
    return _rendered(request, form, context)


def _search(request: HttpRequest, form: SearchForm) -> dict[str, Any]:
    cleaned = form.cleaned_data
    try:
        response = pipeline.search(
            form.query,
            viewer=request.user,
            filters=form.filters,
            choices=Choices(profile=cleaned["profile"], exact=bool(cleaned["exact"])),
            group=form.groups,
            page=cleaned["page"],
        )
    except NoActiveProfile as error:
        return {"problems": (str(error),), "status": 503}
    except SearchError as error:
        return {"problems": (str(error),), "status": 400}
    if response.query.is_empty:
        return {"response": response, "examples": suggestions.examples_for(request.user)}
    return {
        "response": response,
        "degraded": [DEGRADED[signal] for signal in response.degraded],
        "suggestion": form.address(q=response.suggestion, exact=None),
        "links": paging.links(response, form.address),
    }


def _rendered(request: HttpRequest, form: SearchForm, context: dict[str, Any]) -> HttpResponse:
    swaps = bool(request.htmx)  # type: ignore[attr-defined]
    template = "search/found.html" if swaps else "search/page.html"
    # htmx shows a fragment only of an answer that went well; the fragment says what went wrong.
    rendered = render(request, template, context, status=200 if swaps else context["status"])
    if swaps:
        rendered["HX-Push-Url"] = form.address()
    # One address, two answers: neither may stand in for the other, or for another reader's.
    patch_vary_headers(rendered, ("HX-Request", "Cookie"))
    patch_cache_control(rendered, private=True, no_cache=True)
    return rendered


@require_safe
def document(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """A document's text around the passage asked for. Hidden and missing ones are both 404."""
    shown = _document(request, public_id)
    query = clean_text(request.GET.get("q", ""))[:MAX_QUERY_CHARS]
    asked = request.GET.get("chunk", "")
    number = int(asked) if asked.isdecimal() and len(asked) < 10 else None
    reading = passages_of(shown, viewer=request.user, asked=number, words=asked_words(query))
    version = shown.current or shown.latest
    context = {
        "document": shown,
        "version": version,
        "reading": reading,
        "q": query,
        "type": type_label(version.media_type) if version else "",
        "language": language_label(shown.language) if shown.language else "",
    }
    return render(request, "search/document.html", context)


@require_safe
def original(request: HttpRequest, public_id: UUID) -> FileResponse:
    """The file that the shown text was read from, always as a download."""
    shown = _document(request, public_id)
    version = shown.current or shown.latest
    if version is None:
        raise Http404
    try:
        stored = version.file.open("rb")
    except FileNotFoundError as error:
        raise Http404 from error
    response = FileResponse(
        stored,
        as_attachment=True,
        filename=PurePosixPath(version.file_name).name,
        # Whatever a browser might run stays inert bytes.
        content_type=(
            "application/octet-stream"
            if version.media_type.endswith(RUNNABLE)
            else version.media_type
        ),
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _document(request: HttpRequest, public_id: UUID) -> Document:
    """The document with what its page shows; never the text of a version, which may be huge."""
    documents = (
        Document.objects.visible_to(request.user)
        .select_related("collection", "current", "latest")
        .defer("title_terms", "current__text", "latest__text")
    )
    return get_object_or_404(documents, public_id=public_id)
