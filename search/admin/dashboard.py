"""The front page of the admin: open problems, the active ranking, quality and usage."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Q, Sum
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from common.admin.charts import line
from ingestion.models import Document, EmbeddingSpace, State
from ingestion.models.library import UNFINISHED
from search.analytics.admin import figures
from search.analytics.admin.figures import DAYS
from search.models import SearchProfile
from search.tuning.admin.weights import beams
from search.tuning.models import Alert, ProfileChange, QualityRun
from search.tuning.quality import nightly

SHOWN = 8
Actions = ProfileChange.Action
PUBLISHING = (Actions.PUBLISHED, Actions.OVERRIDDEN, Actions.ROLLED_BACK)


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the front page: only the parts that the user has permission for."""
    user = request.user
    if user.has_perm("ingestion.view_document") or user.has_perm("ingestion.change_document"):
        context["library"] = _library(request)
    if user.has_perm("search.view_searchprofile") or user.has_perm("search.change_searchprofile"):
        context["ranking"] = _ranking()
    if user.has_perm("analytics.view_searchevent"):
        context["searching"] = figures.searching()
    if user.has_perm("analytics.view_gap") or user.has_perm("analytics.change_gap"):
        context["gaps"] = figures.open_gaps(user)
    if user.has_perm("tuning.view_evaluationrun"):
        context["quality"] = _quality()
    context["may_upload"] = user.has_perm("ingestion.add_document")
    return context


def _library(request: HttpRequest) -> dict[str, Any]:
    documents = Document.objects.visible_to(request.user)
    counts = documents.aggregate(
        ready=Count("pk", Q(current__isnull=False)),
        unfinished=Count("pk", Q(latest__state__in=UNFINISHED)),
        failed=Count("pk", Q(latest__state=State.FAILED)),
        chunks=Sum("current__chunk_count", default=0),
    )
    failed = documents.filter(latest__state=State.FAILED).select_related("latest", "collection")
    return {**counts, "failures": failed.defer("latest__text", "title_terms")[:SHOWN]}


def _ranking() -> dict[str, Any]:
    profiles = SearchProfile.objects.prefetch_related("class_weights")
    active = profiles.filter(state=SearchProfile.State.ACTIVE).first()
    return {
        "active": active,
        "beams": beams(list(active.class_weights.all())) if active else [],
        "drafts": profiles.filter(state=SearchProfile.State.DRAFT).order_by("-created")[:SHOWN],
    }


def _quality() -> dict[str, Any]:
    """The quality runs, the last publication and the spaces; at most five queries."""
    measure = nightly.leading_measure()
    since = timezone.localdate() - timedelta(days=DAYS - 1)
    rows = {
        quality.date: quality
        for quality in QualityRun.objects.filter(date__gte=since).select_related("run__profile")
    }
    dates = [since + timedelta(days=number) for number in range(DAYS)]
    values = [
        (date, rows[date].run.measures.get(measure) if date in rows else None) for date in dates
    ]
    published = ProfileChange.objects.filter(action__in=PUBLISHING)
    return {
        "measure": measure,
        "latest": max(rows.values(), key=lambda quality: quality.date, default=None),
        "chart": line(gettext("%(measure)s of the golden queries") % {"measure": measure}, values)
        if rows
        else None,
        "alert": Alert.objects.filter(created__date__gte=since).first(),
        "published": published.select_related("profile", "user").first(),
        "spaces": EmbeddingSpace.objects.filter(
            state__in=(EmbeddingSpace.State.ACTIVE, EmbeddingSpace.State.BUILDING)
        ).order_by("state"),
    }
