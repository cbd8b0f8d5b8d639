"""The reader's page: history, favourites, choices, and an export of it all."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.accounts import quotas, tokens
from common.accounts.models import User
from common.api.requests import actor
from common.audit.models import Kind
from common.audit.trail import record
from ingestion.models import Document
from search.answers import threads
from search.answers.models import Thread
from search.readers import favourites as starred
from search.readers import history, saved_searches
from search.readers.own_data import own_data

PER_PAGE = 50  # a page of the history
OPENED = 8  # a guess: the last searches and the favourites of the first page


def _next(request: HttpRequest, otherwise: str) -> str:
    """The page of this site that the form names as `next`."""
    to, secure = request.POST.get("next", ""), request.is_secure()
    is_own = url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=secure)
    return to if is_own else reverse(otherwise)


def refused(request: HttpRequest, problem: Exception) -> HttpResponse:
    """A page with the reason why something was not saved."""
    context = {"problem": str(problem), "to": _next(request, "search:me")}
    return render(request, "search/me/not_saved.html", context, status=400)


@never_cache
@login_required
@require_safe
def me(request: HttpRequest) -> HttpResponse:
    """The reader's page: saved searches, the last searches, favourites, choices."""
    user = actor(request)
    context = {
        "searches": saved_searches.searches_of(user),
        "history": history.history_of(user)[:OPENED],
        "keeps_history": history.keeps_history(user),
        "favourites": starred.favourites_of(user)[:OPENED],
        "quotas": quotas.used_today(user),
        "token_count": tokens.alive(user).count(),
    }
    return render(request, "search/me/overview.html", context)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own_history(request: HttpRequest) -> HttpResponse:
    """The reader's history, which they clear, switch on and off, or delete entries of."""
    user = actor(request)
    if request.method == "POST":
        _change_history(request, user)
        return redirect("search:history")
    page = Paginator(history.history_of(user), PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "keeps_history": history.keeps_history(user)}
    return render(request, "search/me/history.html", context)


def _change_history(request: HttpRequest, user: User) -> None:
    entry = request.POST.get("entry", "")
    match request.POST.get("do", ""):
        case "clear":
            history.clear_history(user)
        case "on" | "off" as choice:
            history.switch_history(user, keeps=choice == "on")
        case "forget" if entry.isdecimal() and len(entry) < 19:
            history.forget_entry(user, int(entry))


@never_cache
@login_required
@require_safe
def favourites(request: HttpRequest) -> HttpResponse:
    """The reader's favourites that they may still read."""
    pages = Paginator(starred.favourites_of(actor(request)), PER_PAGE)
    context = {"page": pages.get_page(request.GET.get("page"))}
    return render(request, "search/me/favourites.html", context)


@login_required
@require_POST
def star(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Add a document to the reader's favourites, or with `on=0` remove it."""
    user = actor(request)
    document = get_object_or_404(Document.objects.visible_to(user), public_id=public_id)
    try:
        starred.star(user, document, on=request.POST.get("on", "1") == "1")
    except saved_searches.NotSaved as error:
        return refused(request, error)
    return redirect(_next(request, "search:favourites"))


@never_cache
@login_required
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """All that belongs to the reader, as a JSON file."""
    user = actor(request)
    record(Kind.EXPORTED, subject=user, details={"what": "own data"})
    own: dict[str, Any] = own_data(user)
    absolute = request.build_absolute_uri
    rows = Thread.objects.owned_by(user)
    own["threads"] = [threads.export_data(thread, user, absolute) for thread in rows]
    text = json.dumps(own, ensure_ascii=False, indent=2, cls=DjangoJSONEncoder)
    headers = {"Content-Disposition": 'attachment; filename="steelyard-my-data.json"'}
    return HttpResponse(text, content_type="application/json", headers=headers)
