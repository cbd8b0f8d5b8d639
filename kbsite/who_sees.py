"""Pages for superusers: what a person sees, and who sees a document, and why."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.admin.sites import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.translation import gettext

from common.accounts import tokens
from common.accounts.models import User
from common.admin import pages
from ingestion import collections
from ingestion.models import Collection, Document


def urls(site: AdminSite) -> list[URLPattern]:
    """URL patterns of these pages."""
    views: dict[str, tuple[pages.View, str]] = {
        "": (find, "who_sees"),
        "people/<int:pk>/": (person, "who_sees_person"),
        "documents/<uuid:public_id>/": (document, "who_sees_document"),
    }
    return pages.urls(site, "who-sees/", views)


def find(request: HttpRequest) -> HttpResponse:
    """A form for a user name or the address of a document, which leads to its page."""
    _check(request)
    asked = request.GET.get("q", "").replace("\0", "").strip()  # Postgres takes no null characters
    problem = ""
    if asked:
        if user := User.objects.filter(username=asked).first():
            return redirect("admin:who_sees_person", user.pk)
        if found := _document(asked):
            return redirect("admin:who_sees_document", found.public_id)
        problem = gettext("No user has this name, and no document this address or id.")
    context = {"asked": asked, "problem": problem}
    return _page(request, "find.html", gettext("Who sees what"), context)


def person(request: HttpRequest, pk: int) -> HttpResponse:
    """The collections that a person may read and why, and those that they may not."""
    _check(request)
    user = get_object_or_404(User, pk=pk)
    sights = collections.seen_by(user)
    names = dict(Collection.objects.values_list("pk", "name"))
    limited = [
        (row.grant, sorted(names.get(one, "?") for one in row.grant.collections))
        for row in tokens.alive(user)
        if getattr(row, "grant", None) and row.grant.collections is not None
    ]
    context = {
        "person": user,
        "seen": [sight for sight in sights if sight.reasons],
        "unseen": [sight for sight in sights if not sight.reasons],
        "tokens": limited,
    }
    title = gettext("What %(name)s sees") % {"name": user}
    return _page(request, "person.html", title, context)


def document(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Who may read a document, and why."""
    _check(request)
    row = get_object_or_404(Document.objects.select_related("collection"), public_id=public_id)
    context = {
        "document": row,
        "is_deleted": row.deleted_at is not None,
        "openness": collections.openness(row.collection),
        "readers": collections.readers_of(row.collection),
    }
    title = gettext("Who sees “%(title)s”") % {"title": row.title}
    return _page(request, "document.html", title, context)


def _check(request: HttpRequest) -> None:
    # The pages name groups, people and documents that staff may not see.
    if not request.user.is_superuser:
        raise PermissionDenied


def _document(text: str) -> Document | None:
    """The document with this id, or at this address of the site."""
    for part in reversed(text.split("/")):
        try:
            public_id = UUID(part)
        except ValueError:
            continue
        return Document.objects.filter(public_id=public_id).first()
    return None


def _page(
    request: HttpRequest, template: str, title: str, context: dict[str, Any]
) -> TemplateResponse:
    from django.contrib import admin

    frame = {**admin.site.each_context(request), "title": title}
    return TemplateResponse(request, f"admin/who_sees/{template}", {**frame, **context})
