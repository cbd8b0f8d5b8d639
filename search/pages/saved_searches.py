"""Saved searches: save, rename, delete; and the feed of reviews gets another address."""

from __future__ import annotations

from functools import cache
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from common.api.requests import actor
from search.pages.facets import facets_for
from search.pages.me import refused
from search.pages.search_form import SearchForm, filter_fields
from search.readers import history, reviews, saved_searches
from search.readers.saved_searches import NotSaved


def params_of(form: SearchForm) -> dict[str, list[str]]:
    """The filters of a valid search by their names in its address."""
    params: dict[str, list[str]] = {}
    for name, value in form.carried:
        if name in filter_fields():
            params.setdefault(name, []).append(str(value))
    return params


def remember_search(request: HttpRequest, form: SearchForm) -> None:
    """Add the search to its reader's history."""
    typing = bool(request.htmx)  # type: ignore[attr-defined]
    history.remember(request, form.query, params_of(form), typing=typing)


@login_required
@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the posted search under a name, with the filters of its form on the results page."""
    form = SearchForm(request.POST, cache(lambda: facets_for(request.user)))
    try:
        if not form.is_valid():
            raise NotSaved(" ".join(form.problems))
        saved = saved_searches.save(
            actor(request),
            name=request.POST.get("name", ""),
            question=form.query,
            params=params_of(form),
        )
    except NotSaved as error:
        return refused(request, error)
    return redirect(f"{reverse('search:me')}#search-{saved.public_id}")


@never_cache
@login_required
@require_POST
def change(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Rename a saved search, or delete it."""
    search = get_object_or_404(saved_searches.searches_of(actor(request)), public_id=public_id)
    posted = request.POST
    try:
        match posted.get("do", ""):
            case "change":
                saved_searches.rename(search, posted.get("name", ""))
            case "delete":
                search.delete()
                return redirect("search:me")
    except NotSaved as error:
        return refused(request, error)
    return redirect(f"{reverse('search:me')}#search-{public_id}")


@never_cache
@login_required
@require_POST
def renew_reviews_feed(request: HttpRequest) -> HttpResponse:
    """Give the person's feed of reviews another address."""
    reviews.renew_feed(actor(request))
    messages.success(request, gettext("The feed has a new address; the earlier ones are invalid."))
    return redirect("admin:ingestion_document_review")
