"""The admin's front page: what to do, first steps, searches, answers, gaps, quality, ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Avg, Count, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext_lazy

from common.admin.charts import line
from ingestion.chunking.options import LAYOUT
from ingestion.documents.currency import review_states
from ingestion.models import Document, EmbeddingSpace, State
from ingestion.models.versions import UNFINISHED
from search.analytics import reporting
from search.analytics.models import SearchEvent
from search.answers import feedback
from search.answers.models import Answer, AnswerLimits
from search.models import SearchProfile
from search.presentation.labels import measure_label
from search.tuning.admin.weight_fields import beams
from search.tuning.evaluation import nightly
from search.tuning.models import Judgement, ProfileChange, QualityRun

MAX_ROWS, MOST_FAILURES = 8, 3
Actions = ProfileChange.Action
PUBLISHING = (Actions.PUBLISHED, Actions.OVERRIDDEN, Actions.ROLLED_BACK)
# A chart of fewer days is a few points. A guess, like the days for which the first steps are said
# to be done.
LEAST_DAYS = 7
DAYS_DONE = 7
_DOCUMENTS, _REVIEW = "ingestion_document_changelist", "ingestion_document_review"
# Sentences on what is to be done, by the name of the count, and the page of it: the most urgent
# first.
_TASKS = (
    ("failed", _DOCUMENTS, "?state=failed", ngettext_lazy(
        "%(count)s document failed", "%(count)s documents failed", "count")),
    ("unfinished", _DOCUMENTS, "?state=unfinished", ngettext_lazy(
        "%(count)s document is waiting or being read",
        "%(count)s documents are waiting or being read", "count")),
    ("overdue", _REVIEW, "#overdue", ngettext_lazy(
        "%(count)s overdue review", "%(count)s overdue reviews", "count")),
    ("due", _REVIEW, "#due", ngettext_lazy(
        "%(count)s document to review within a month",
        "%(count)s documents to review within a month", "count")),
    ("unowned", _REVIEW, "#unowned", ngettext_lazy(
        "%(count)s document to review, without an owner",
        "%(count)s documents to review, without an owner", "count")),
    ("editions", _REVIEW, "#editions", ngettext_lazy(
        "%(count)s document is perhaps a new edition of another",
        "%(count)s documents are perhaps new editions of others", "count")),
    ("gaps", "analytics_gap_changelist", "", ngettext_lazy(
        "%(count)s question seems to have failed", "%(count)s questions seem to have failed",
        "count")),
    ("outdated", _DOCUMENTS, "?state=outdated", ngettext_lazy(
        "%(count)s document has passages of an earlier release: reprocess it from the file",
        "%(count)s documents have passages of an earlier release: reprocess them from the file",
        "count")),
)  # fmt: skip


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the front page: only the parts that the user has permission for."""
    user = request.user
    days = reporting.days_of(request.GET.get("days", ""))
    if user.has_perm("ingestion.view_document") or user.has_perm("ingestion.change_document"):
        context["library"] = _library(request)
    if user.has_perm("search.view_searchprofile") or user.has_perm("search.change_searchprofile"):
        context["ranking"] = _ranking()
    if user.has_perm("analytics.view_searchevent"):
        context["searching"] = _searching(days)
    if user.has_perm("analytics.view_gap") or user.has_perm("analytics.change_gap"):
        context["gaps"] = reporting.open_gaps(user)
    if user.has_perm("answers.view_answer"):
        context["answering"] = _answering(days)
    if user.has_perm("tuning.view_evaluationrun"):
        context["quality"] = _quality(days)
    context["may_upload"] = user.has_perm("ingestion.add_document")
    context["ranges"] = reporting.RANGES
    context["days"] = days
    context["tasks"] = tasks(context)
    context["steps"] = steps = first_steps(user, context)
    context["steps_done"] = all(step.is_done for step in steps)
    context["version"] = settings.VERSION
    return context


@dataclass(frozen=True, slots=True)
class Task:
    """A sentence on what is to be done, and where; `is_urgent`: readers miss documents."""

    text: str
    address: str
    is_urgent: bool


def tasks(context: Mapping[str, Any]) -> list[Task]:
    """What is to be done in the parts of the page that the user sees, the most urgent first."""
    counts = {**context.get("library", {}), "gaps": context.get("gaps", {}).get("count", 0)}
    return [
        Task(sentence % {"count": counts[name]}, reverse(f"admin:{view}") + part, name == "failed")
        for name, view, part, sentence in _TASKS
        if counts.get(name)
    ]


@dataclass(frozen=True, slots=True)
class FirstStep:
    """One of the first steps of a new site."""

    text: str
    address: str
    is_done: bool


def first_steps(user: Any, context: Mapping[str, Any]) -> list[FirstStep]:
    """The steps of a new site that the user may do; none a while after the last of them, the first
    publication. At most two queries.
    """
    steps = []
    if user.has_perm("ingestion.add_document") and "library" in context:
        upload = reverse("admin:ingestion_document_add")
        has_documents = context["library"]["ready"] > 0
        steps.append(FirstStep(gettext("Upload documents."), upload, has_documents))
    if "searching" in context:
        has_searches = context["searching"]["is_used"]
        steps.append(FirstStep(gettext("Search them."), reverse("search:page"), has_searches))
    if user.has_perm("tuning.add_judgement"):
        bench = reverse("admin:search_workbench")
        judged = Judgement.objects.exists()
        text = gettext("In the workbench, judge the results of questions that matter to you.")
        steps.append(FirstStep(text, bench, judged))
    changed = None
    if user.has_perm("search.change_searchprofile"):
        changed = ProfileChange.objects.filter(action__in=PUBLISHING, user__isnull=False).first()
        text = gettext("Change the weights there, look at the difference, and publish them.")
        steps.append(FirstStep(text, reverse("admin:search_workbench"), changed is not None))
    is_new = changed is not None and changed.at > timezone.now() - timedelta(days=DAYS_DONE)
    return steps if is_new or not all(step.is_done for step in steps) else []


def _library(request: HttpRequest) -> dict[str, Any]:
    documents = Document.objects.visible_to(request.user)
    counts = documents.aggregate(
        ready=Count("pk", Q(current__isnull=False)),
        unfinished=Count("pk", Q(latest__state__in=UNFINISHED)),
        failed=Count("pk", Q(latest__state=State.FAILED)),
        outdated=Count("pk", Q(current__chunk_layout__lt=LAYOUT)),
        chunks=Sum("current__chunk_count", default=0),
        editions=Count("pk", Q(edition_of__in=documents.order_by().values("pk"))),
        **{name: Count("pk", condition) for name, condition in review_states().items()},
    )
    failed = documents.filter(latest__state=State.FAILED).select_related("latest", "collection")
    return {**counts, "failures": failed.defer("latest__text", "title_terms")[:MOST_FAILURES]}


def _searching(days: int) -> dict[str, Any]:
    """The figures of searches, with charts once there are LEAST_DAYS of them; two queries."""
    first = SearchEvent.objects.order_by("pk").values_list("at", flat=True).first()
    is_long = first is not None and first < timezone.now() - timedelta(days=LEAST_DAYS - 1)
    figures = reporting.searching(days)
    charts = figures["charts"] if is_long else []
    return {**figures, "charts": charts, "is_used": first is not None}


def _ranking() -> dict[str, Any]:
    profiles = SearchProfile.objects.prefetch_related("class_weights")
    active = profiles.filter(state=SearchProfile.State.ACTIVE).first()
    return {
        "active": active,
        "beams": beams(list(active.class_weights.all())) if active else [],
        "drafts": profiles.filter(state=SearchProfile.State.DRAFT).order_by("-created")[:MAX_ROWS],
    }


def _answering(days: int) -> dict[str, Any]:
    """The figures of the answers of the last `days` days; three queries."""
    since = timezone.now() - timedelta(days=days)
    rows = Answer.objects.filter(at__gte=since)
    sums = rows.aggregate(
        answers=Count("pk"),
        refused=Count("pk", Q(state="refused")),
        written=Count("pk", ~Q(model="")),
        supported=Avg("supported"),
        milliseconds=Avg("milliseconds"),
        cost=Sum("cost", default=0),
    )
    ratings = feedback.helpfulness(since)
    limits = AnswerLimits.objects.filter(pk=1).first()
    return {**sums, "days": days, "helpful": ratings, "currency": limits.currency if limits else ""}


def _quality(days: int) -> dict[str, Any]:
    """The nightly measurements, the last publication and the spaces; at most four queries."""
    measure = nightly.leading_measure()
    since = timezone.localdate() - timedelta(days=days - 1)
    rows = {
        quality.date: quality
        for quality in QualityRun.objects.filter(date__gte=since).select_related("run__profile")
    }
    title = gettext("%(measure)s of the golden queries") % {"measure": measure_label(measure)}
    dates = [since + timedelta(days=number) for number in range(days)]
    values = [
        (date, rows[date].run.measures.get(measure) if date in rows else None) for date in dates
    ]
    published = ProfileChange.objects.filter(action__in=PUBLISHING)
    return {
        "daily_at": settings.NIGHTLY_RUN_AT,
        "latest": max(rows.values(), key=lambda quality: quality.date, default=None),
        "chart": line(title, values) if rows else None,
        "is_long": len(rows) >= LEAST_DAYS,
        "published": published.select_related("profile", "user").first(),
        "spaces": EmbeddingSpace.objects.filter(
            state__in=(EmbeddingSpace.State.ACTIVE, EmbeddingSpace.State.BUILDING)
        ).order_by("state"),
    }
