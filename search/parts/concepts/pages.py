"""The page of concepts."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.db.models import BooleanField, ExpressionWrapper, Min, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from search.parts.concepts.models import Concept
from search.query.parse import clean_text

PER_PAGE = 60  # a page of the list
# The list's pages, a guess: each costs a count of all concepts, and crawlers ask for every page.
CONCEPT_PAGES = 20


@require_safe
def concepts(request: HttpRequest) -> HttpResponse:
    """The concepts of the readable documents; with `about`, the documents that have one."""
    readable = Concept.objects.visible_to(request.user)
    about = clean_text(request.GET.get("about", ""))[:200]
    words = clean_text(request.GET.get("q", ""))[:200]
    if about:
        rows: Any = readable.filter(key=about).select_related("document__collection")
        rows = rows.defer("document__title_terms").order_by("-weight", "-count", "document")
        label = readable.filter(key=about).aggregate(label=Min("label"))["label"]
        if label is None:
            raise Http404
    else:
        rows, label = readable.counted(), ""
        if words:
            rows = rows.filter(key__in=readable.filter(label__icontains=words).values("key"))
        else:  # the single words of most documents, such as "name" and "use", say little of them
            is_phrase = ExpressionWrapper(Q(key__contains=" "), BooleanField())
            rows = rows.order_by(is_phrase.desc(), *rows.query.order_by)
        rows = list(rows[: CONCEPT_PAGES * PER_PAGE])  # one query counts and shows them
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "about": about,
        "label": label,
        "q": words,
        "page": page,
        "is_cut": not about and len(rows) == CONCEPT_PAGES * PER_PAGE,
    }
    return render(request, "search/concepts.html", context)
