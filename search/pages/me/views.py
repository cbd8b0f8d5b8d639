"""The reader's page: history, favourites, choices, and an export of it all."""

from __future__ import annotations

import json
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.accounts import quotas, tokens
from common.accounts.models import User
from common.audit.models import Kind
from common.audit.trail import record
from ingestion.models import Document
from search.answers import threads
from search.pages.fields import PageField
from search.readers import history, news, saving

ENTRIES_SHOWN = 50  # a page of the history
OPENED = 8  # a guess: the last searches and the favourites of the first page


def reader_of(request: HttpRequest) -> User:
    """The signed-in user, for a view that requires one."""
    return cast("User", request.user)


def back(request: HttpRequest, otherwise: str) -> HttpResponse:
    """A redirect to the page of this site that the form names as `next`."""
    to = request.POST.get("next", "")
    secure = request.is_secure()
    if not url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=secure):
        to = reverse(otherwise)
    return redirect(to)


def refused(request: HttpRequest, problem: Exception) -> HttpResponse:
    """A page that says why something of the reader's was not kept."""
    to = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(to, {request.get_host()}):
        to = reverse("search:me")
    context = {"problem": str(problem), "to": to}
    return render(request, "search/me/refused.html", context, status=400)


@never_cache
@login_required
@require_safe
def me(request: HttpRequest) -> HttpResponse:
    """The reader's page: saved searches, the last searches, favourites, choices."""
    user = reader_of(request)
    readable = Document.objects.visible_to(user).filter(current__isnull=False).order_by()
    still = Q(finds__version__document__in=readable.values("pk"))
    searches = list(saving.of(user).annotate(news=Count("finds", filter=still)))
    context = {
        "searches": searches,
        "history": history.of(user)[:OPENED],
        "keeps_history": history.is_kept(user),
        "favourites": saving.favourites_of(user)[:OPENED],
        "quotas": quotas.used_today(user),
        "token_count": tokens.alive(user).count(),
    }
    return render(request, "search/me/me.html", context)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def past(request: HttpRequest) -> HttpResponse:
    """The reader's history; they delete an entry or all, and switch it off and on."""
    user = reader_of(request)
    if request.method == "POST":
        _change_history(request, user)
        return redirect("search:history")
    number = PageField().clean(request.GET.get("page"))
    shown = Paginator(history.of(user), ENTRIES_SHOWN).get_page(number)
    context = {"shown": shown, "keeps_history": history.is_kept(user)}
    return render(request, "search/me/history.html", context)


def _change_history(request: HttpRequest, user: User) -> None:
    entry = request.POST.get("entry", "")
    match request.POST.get("do", ""):
        case "clear":
            history.clear(user)
        case "on" | "off" as wanted:
            history.switch(user, keeps=wanted == "on")
        case "forget" if entry.isdecimal() and len(entry) < 19:
            history.forget_one(user, int(entry))


@never_cache
@login_required
@require_safe
def favourites(request: HttpRequest) -> HttpResponse:
    """The reader's favourites that they may still read."""
    number = PageField().clean(request.GET.get("page"))
    shown = Paginator(saving.favourites_of(reader_of(request)), ENTRIES_SHOWN).get_page(number)
    return render(request, "search/me/favourites.html", {"shown": shown})


@login_required
@require_POST
def star(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Add a document to the reader's favourites, or with `on=0` take it off."""
    user = reader_of(request)
    document = get_object_or_404(Document.objects.visible_to(user), public_id=public_id)
    try:
        saving.star(user, document, on=request.POST.get("on", "1") == "1")
    except saving.NotSaved as error:
        return refused(request, error)
    return back(request, "search:favourites")


@never_cache
@login_required
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """All that belongs to the reader, as a JSON file."""
    user = reader_of(request)
    record(Kind.EXPORTED, subject=user, details={"what": "own data"})
    found: dict[str, Any] = history.own_data(user)
    found["threads"] = [threads.export_data(thread, user) for thread in threads.of(user)]
    text = json.dumps(found, ensure_ascii=False, indent=2, default=str)
    headers = {"Content-Disposition": 'attachment; filename="steelyard-my-data.json"'}
    return HttpResponse(text, content_type="application/json", headers=headers)


@never_cache
@login_required
@require_safe
def found(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """What one of the reader's saved searches found new."""
    search = get_object_or_404(saving.of(reader_of(request)), public_id=public_id)
    finds = list(news.finds_of(search)[: news.MOST_SHOWN])
    return render(request, "search/me/found.html", {"search": search, "finds": finds})
