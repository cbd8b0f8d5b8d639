"""The views of readers besides search and documents: concepts, interactions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Min
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from ingestion.models import Concept
from search.analytics.interactions import record_interaction
from search.errors import InteractionRefused, UnknownSearch
from search.pages.fields import PageField
from search.pages.forms import InteractionForm
from search.query.parse import clean_text

CONCEPTS_SHOWN = 60  # a page of the list
# The list's pages, a guess: each costs a count of all concepts, and crawlers ask for every page.
CONCEPT_PAGES = 20


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
def concepts(request: HttpRequest) -> HttpResponse:
    """The concepts of the readable documents; with `about`, the documents that have one."""
    held = Concept.objects.visible_to(request.user)
    about = clean_text(request.GET.get("about", ""))[:200]
    words = clean_text(request.GET.get("q", ""))[:200]
    number = PageField().clean(request.GET.get("page"))
    if about:
        rows: Any = held.filter(key=about).select_related("document__collection")
        rows = rows.defer("document__title_terms").order_by("-weight", "-count", "document")
        label = held.filter(key=about).aggregate(label=Min("label"))["label"]
        if label is None:
            raise Http404
    else:
        rows, label = held.counted(), ""
        rows = (
            rows.filter(key__in=held.filter(label__icontains=words).values("key"))
            if words
            else rows
        )
        rows = list(rows[: CONCEPT_PAGES * CONCEPTS_SHOWN])  # one query counts and shows them
    shown = Paginator(rows, CONCEPTS_SHOWN).get_page(number)
    context = {
        "about": about,
        "label": label,
        "q": words,
        "shown": shown,
        "is_cut": not about and len(rows) == CONCEPT_PAGES * CONCEPTS_SHOWN,
    }
    return render(request, "search/concepts.html", context)
