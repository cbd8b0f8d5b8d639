"""The views of documents, their originals and pictures; reports of readers."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from ingestion.documents import completeness, currency, picture_cache
from ingestion.documents.restricted_readers import Readers
from ingestion.errors import IngestionError, PicturesBusy
from ingestion.files.downloads import download
from ingestion.models import Chunk, Document, DocumentVersion
from ingestion.models.collections import language_name
from ingestion.parsing.page_pictures import is_deck
from ingestion.parsing.passage_rectangles import SCALE, Box, region_of
from search.analytics.interactions import Report, record_interaction
from search.analytics.models import Interaction
from search.errors import InteractionRefused, UnknownSearch
from search.pages.facets import folder_options, metadata_facets, type_label
from search.pages.search_form import LONGEST_ADDRESS
from search.presentation.document_hits import hits_of
from search.presentation.document_text import parts_of, passages_of, section_around
from search.presentation.navigation import contents_of
from search.presentation.printed_pages import leaves_of
from search.query.parse import clean_text, question_words
from search.retrieval import facets


@require_safe
def document(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """A document's text around the requested passage. Hidden and missing documents are both 404."""
    row = _document(request, public_id)
    query = clean_text(request.GET.get("q", ""))[: settings.SEARCH_QUERY_CHARS]
    words = question_words(query)
    chunk = request.GET.get("chunk", "")
    number = int(chunk) if chunk.isdecimal() and len(chunk) < 10 else None
    reading = passages_of(row, viewer=request.user, requested=number, words=words)
    version = row.current or row.latest
    pages = picture_cache.page_count(version)
    # Without text, the picture is what there is to see.
    is_beside = bool(pages) and (request.GET.get("view") == "original" or not reading.total)
    carried = {"q": query, "view": "original" if is_beside else ""}
    state = currency.currency_of(row, request.user)
    context = {
        "document": row,
        "parts": parts_of(row, viewer=request.user) if getattr(row, "part_count", 0) else None,
        "version": version,
        "searchable": completeness.summary(version.completeness, with_places=True)
        if version and version.pk == row.current_id
        else "",
        "currency": state,
        "stale": currency.label(state),
        "reading": reading,
        "contents": contents_of(row, viewer=request.user, reading=reading),
        "hits": hits_of(row, viewer=request.user, words=words, requested=reading.requested),
        "q": query,
        "leaves": leaves_of(reading, pages) if is_beside else (),
        "has_pictures": bool(pages),
        "is_deck": version is not None and is_deck(version.media_type),
        "tail": "".join(f"&{urlencode({name: text})}" for name, text in carried.items() if text),
        "metadata": metadata_facets(row.metadata),
        "folders": folder_options(row.metadata),
        "facets_of_parts": [(one, keys) for one in facets.installed() if (keys := one.of(row))],
        "type": type_label(version.media_type) if version else "",
        "language": language_name(row.language) if row.language else "",
        "readers": Readers.of(row) if getattr(request.user, "is_staff", False) else None,
    }
    return render(request, "search/document.html", context)


@require_safe
def section(request: HttpRequest, public_id: UUID, ordinal: int) -> HttpResponse:
    """The section around a passage, as a fragment; without scripts, a redirect to the document."""
    query = clean_text(request.GET.get("q", ""))[: settings.SEARCH_QUERY_CHARS]
    if not request.htmx:  # type: ignore[attr-defined]
        parameters = urlencode({"chunk": ordinal, **({"q": query} if query else {})})
        address = reverse("search:document", args=(public_id,))
        return redirect(f"{address}?{parameters}#chunk-{ordinal}")
    row = _document(request, public_id)
    around = section_around(row, ordinal, viewer=request.user, words=question_words(query))
    if around is None:
        raise Http404
    context = {"document": row, "around": around, "q": query}
    response = render(request, "search/parts/surrounding_section.html", context)
    patch_vary_headers(response, ("HX-Request", "Cookie"))
    patch_cache_control(response, private=True, no_cache=True)
    return response


@require_safe
def original(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """The original file of the displayed text, always as a download."""
    row = _document(request, public_id)
    version = row.current or row.latest
    if version is None:
        raise Http404
    return download(version, request.user, request.headers)


@require_safe
def picture(request: HttpRequest, public_id: UUID, number: int) -> HttpResponseBase:
    """The picture of a page of the original, drawn now unless it is cached."""
    version = _version_with_page(_document(request, public_id), number)
    try:
        content = picture_cache.picture_of(version, number).content
    except IngestionError as error:
        return _not_drawn(error)
    return _private(request, content, "image/webp")


@require_safe
def mark(request: HttpRequest, public_id: UUID, number: int, ordinal: int) -> HttpResponseBase:
    """The places of a passage on the picture of a page, as rectangles to lay over it.

    With `?crop`, the part of the picture itself that has the passage; of a slide, all of it.
    """
    row = _document(request, public_id)
    version = _version_with_page(row, number)
    chunks = Chunk.objects.visible_to(request.user).filter(version=version, document=row)
    chunk = get_object_or_404(chunks.only("text", "original"), ordinal=ordinal)
    cropped: dict[str, object] = {}
    try:
        # What was edited by hand is not what stands on the page.
        places = picture_cache.places_on(version, number, chunk.original or chunk.text)
        if "crop" in request.GET:
            region = region_of([] if is_deck(version.media_type) else places)
            cropped = _cropped(picture_cache.picture_of(version, number), region)
    except IngestionError as error:
        return _not_drawn(error)
    boxes = [(left, top, right - left, bottom - top) for left, top, right, bottom in places]
    drawing = render_to_string("search/mark.svg", {"boxes": boxes, "scale": SCALE} | cropped)
    return _private(request, drawing.encode(), "image/svg+xml")


def _cropped(page: picture_cache.Picture, region: Box) -> dict[str, object]:
    """What mark.svg shows of a page; the browser cuts it, as the server decodes no picture."""
    left, top, right, bottom = region
    width, height = right - left, bottom - top
    return {
        "view": f"{left} {top} {width} {height}",
        "width": page.width * width // SCALE,
        "height": page.height * height // SCALE,
        "picture": b64encode(page.content).decode(),
    }


def _version_with_page(row: Document, number: int) -> DocumentVersion:
    """The displayed version. Raises Http404 if it has no picture of this page."""
    version = row.current or row.latest
    if version is None or not 1 <= number <= picture_cache.page_count(version):
        raise Http404
    return version


def _not_drawn(error: IngestionError) -> HttpResponse:
    """A sentence in place of the picture: 503 if a retry may help, else 422."""
    is_busy = isinstance(error, PicturesBusy)
    response = HttpResponse(
        str(error), content_type="text/plain; charset=utf-8", status=503 if is_busy else 422
    )
    if is_busy:
        response["Retry-After"] = "3"
    patch_cache_control(response, private=True, no_store=True)
    return response


def _private(request: HttpRequest, content: bytes, content_type: str) -> HttpResponseBase:
    """A file for this reader alone, which browsers request again each time: rights may change."""
    response = HttpResponse(content, content_type=content_type)
    response["ETag"] = etag = f'"{sha256(content).hexdigest()[:32]}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; img-src data:; sandbox"
    patch_vary_headers(response, ("Cookie",))
    patch_cache_control(response, private=True, no_cache=True)
    return get_conditional_response(request, etag=etag, response=response) or response


def _document(request: HttpRequest, public_id: UUID) -> Document:
    """The document with the rows that its page shows, without the (possibly huge) texts."""
    documents = (
        Document.objects.visible_to(request.user)
        .with_part_count()
        .select_related("collection", "current", "latest", "parent", "audience")
        .defer("title_terms", "parent__title_terms", "current__text", "latest__text")
    )
    return get_object_or_404(documents, public_id=public_id)


class InteractionForm(forms.Form):
    """An interaction with a search: a click, reading time, a thumb or an answer."""

    kind = forms.ChoiceField(choices=Interaction.Kind.choices)
    document = forms.UUIDField(required=False)
    seconds = forms.FloatField(required=False, min_value=0)
    undo = forms.BooleanField(required=False)
    # The address of the search, to return to without scripts.
    back = forms.CharField(required=False, max_length=2 * LONGEST_ADDRESS)


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
    report = Report.of(form.cleaned_data)
    try:
        record_interaction(request, search_id, report)
    except UnknownSearch as error:
        raise Http404 from error
    except InteractionRefused as error:
        return HttpResponse(str(error), status=400, content_type="text/plain")
    back = form.cleaned_data["back"]
    if not back.startswith(f"{reverse('search:page')}?"):
        return HttpResponse(status=204)
    context = {"report": report, "back": back, "search_id": search_id}
    return render(request, "search/feedback_noted.html", context)
