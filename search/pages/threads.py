"""The pages of threads: list, thread, rename, share, delete, export. For signed-in users."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.api.requests import actor
from search.answers import recording
from search.answers import threads as conversations
from search.answers.models import Answer, AnswerFeedback, Thread
from search.pages.answer_cards import stored_card

PER_PAGE = 50


class ThreadForm(forms.ModelForm):  # type: ignore[type-arg]
    """The title of a thread, and whether it is shared."""

    class Meta:
        model = Thread
        fields = ("title",)
        error_messages = {"title": {"required": _("Type a title.")}}


def own_threads(request: HttpRequest) -> QuerySet[Thread]:
    """The threads of a signed-in user with their `questions`, the last used first."""
    rows = Thread.objects.owned_by(actor(request)).annotate(questions=Count("answers"))
    return rows.order_by("-updated", "-pk")  # grouping drops the model's order


@never_cache
@login_required
@require_safe
def threads(request: HttpRequest) -> HttpResponse:
    """The user's own threads, the last used first."""
    page = Paginator(own_threads(request), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "search/answers/threads.html", {"page": page})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def thread(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """A thread with its answers, each as this reader may see it; its owner renames it here."""
    row = _thread(request, thread_id, is_own=request.method == "POST")
    form = ThreadForm(request.POST or None, instance=row)
    if request.method == "POST" and form.is_valid():
        title = form.cleaned_data["title"]
        conversations.rename(row, title, acting_user=actor(request))
        return redirect("search:thread", row.public_id)
    title = Thread.objects.values_list("title", flat=True).get(pk=row.pk)
    context: dict[str, Any] = {
        "thread": row,
        "title": title,
        "form": form,
        "is_own": row.user_id == request.user.pk,
        "answers": [stored_card(row, request) for row in _answers(request, row)],
        "reasons": AnswerFeedback.Reason.choices,
        "writes": settings.ANSWERS_GENERATED,
        "address": request.build_absolute_uri(request.path),
    }
    status = 400 if form.errors else 200
    return render(request, "search/answers/thread.html", context, status=status)


@login_required
@require_POST
def share(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Share the thread with the signed-in users who have its address, or end that."""
    row = _thread(request, thread_id, is_own=True)
    is_shared = request.POST.get("shared") == "1"
    conversations.share(row, is_shared, acting_user=actor(request))
    return redirect("search:thread", row.public_id)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Delete a thread with its answers, once the owner has confirmed it."""
    row = _thread(request, thread_id, is_own=True)
    if request.method == "POST":
        conversations.delete(row, acting_user=actor(request))
        return redirect("search:threads")
    return render(request, "search/answers/delete.html", {"thread": row})


@never_cache
@login_required
@require_safe
def export(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """A thread as a Markdown file; withheld answers have no text."""
    row = _thread(request, thread_id)
    text = conversations.export(row, actor(request), base=request.build_absolute_uri("/"))
    name = slugify(row.title)[:60] or "thread"
    headers = {"Content-Disposition": f'attachment; filename="{name}.md"'}
    return HttpResponse(text, content_type="text/markdown; charset=utf-8", headers=headers)


def _thread(request: HttpRequest, thread_id: UUID, *, is_own: bool = False) -> Thread:
    """The thread, if the user may read it, or with `is_own` owns it. Raises Http404 otherwise."""
    viewer = actor(request)
    rows = Thread.objects.owned_by(viewer) if is_own else Thread.objects.visible_to(viewer)
    return get_object_or_404(rows.select_related("user"), public_id=thread_id)


def _answers(request: HttpRequest, row: Thread) -> list[Answer]:
    """The thread's answers, oldest first, with their sources: two queries."""
    rows = recording.with_sources(actor(request)).filter(thread=row)
    return list(rows.order_by("at", "pk"))
