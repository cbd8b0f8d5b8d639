"""The admin of answers: prices and budgets, answers given; `settings_admin` has the settings."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import BooleanField, QuerySet, Sum, Value
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.mixins import OneRow, ReadOnly, actor, state_column
from search.answers import feedback, settings_admin  # noqa: F401 -- registers the settings
from search.answers.domain import State
from search.answers.models import Answer, AnswerLimits, ModelCall, ModelPrice
from search.errors import SearchError

STATE_LABELS = {
    State.RUNNING.value: "info",
    State.DONE.value: "success",
    State.REFUSED.value: "warning",
    State.STOPPED.value: "",
    State.FAILED.value: "danger",
}
PRIVATE = _("(a private thread, or sources that you may not read)")


@admin.register(ModelPrice)
class ModelPriceAdmin(ModelAdmin):  # type: ignore[misc]
    empty_text = _("No model has a price: answers cost nothing, and no budget is used.")
    list_display = ("model", "input_per_million", "output_per_million")
    list_editable = ("input_per_million", "output_per_million")
    search_fields = ("model",)


@admin.register(AnswerLimits)
class AnswerLimitsAdmin(OneRow, ModelAdmin):  # type: ignore[misc]
    """The single row of budgets, with what has been spent this month."""

    empty_text = _("There are no budgets.")
    readonly_fields = ("spent",)
    fields = ("spent", "currency", "site_monthly", "user_monthly", "visitor_daily")

    @admin.display(description=_("spent this month"))
    def spent(self, limits: AnswerLimits) -> str:
        month = timezone.localtime().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        calls = ModelCall.objects.filter(at__gte=month)
        sums = calls.aggregate(
            cost=Sum("cost", default=0),
            tokens=Sum("prompt_tokens", default=0) + Sum("completion_tokens", default=0),
        )
        return gettext("%(cost).4f %(currency)s for %(tokens)s tokens in %(calls)s calls") % {
            "cost": sums["cost"],
            "currency": limits.currency,
            "tokens": f"{sums['tokens']:,}",
            "calls": f"{calls.count():,}",
        }


@admin.register(Answer)
class AnswerAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    """The stored answers. Only administrators who may read all sources of an answer see its text;
    answers in threads are never readable here.
    """

    empty_text = _("Nobody has asked for an answer yet.")
    list_display = (
        "at", "asked", "state_label", "mode", "channel", "model", "support", "helpful",
        "costs", "took",
    )  # fmt: skip
    list_filter = ("state", "mode", "channel", "model", ("at", admin.DateFieldListFilter))
    date_hierarchy = "at"
    fields = (
        "at", "asked", "answered", "state", "asked_mode", "mode", "channel",
        "model", "sure", "support", "dropped", "context_tokens", "prompt_tokens",
        "completion_tokens", "cost", "took", "first_token_ms", "what_was_done", "helpful",
    )  # fmt: skip
    readonly_fields = fields
    actions = ("make_golden",)

    @admin.action(description=_("Make golden queries"), permissions=["make_golden"])
    def make_golden(self, request: HttpRequest, queryset: QuerySet[Answer]) -> None:
        """Make a golden query of each helpful answer whose sources the user may read."""
        suggested = feedback.suggested(request.user)
        chosen = suggested.filter(pk__in=[row.pk for row in queryset])
        made = 0
        for answer in chosen:
            try:
                feedback.make_golden(answer, acting_user=actor(request))
                made += 1
            except SearchError as error:
                self.message_user(request, str(error), messages.WARNING)
        left = len(queryset) - made
        text = ngettext(
            "%(count)d golden query was made.", "%(count)d golden queries were made.", made
        )
        self.message_user(request, text % {"count": made}, messages.SUCCESS)
        if left:
            text = gettext(
                "%(count)d answers were left out: only answers that every reader found helpful, "
                "that cite a source, and that are outside of private threads can be taken."
            )
            self.message_user(request, text % {"count": left}, messages.INFO)

    def has_make_golden_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perms(("tuning.add_goldenquery", "tuning.add_judgement"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Answer]:
        queryset: QuerySet[Answer] = super().get_queryset(request)
        readable = Answer.objects.with_readable_sources(request.user)
        rows = readable.filter(pk__in=queryset.order_by().values("pk"))
        by_superuser = Value(bool(request.user.is_superuser), output_field=BooleanField())
        rows = rows.annotate(by_superuser=by_superuser)
        return rows.select_related("thread").prefetch_related("feedback")

    def has_words(self, answer: Answer) -> bool:
        """Whether the administrator may read the words of question and answer."""
        # Without a source, the readers of the question are unknown: it may name hidden things.
        seen: Any = answer
        is_bare = not answer.source_count and not seen.own and not seen.by_superuser
        return answer.thread is None and not answer.is_withheld and not is_bare

    @admin.display(description=_("question"))
    def asked(self, answer: Answer) -> str:
        return answer.question if self.has_words(answer) else str(PRIVATE)

    @admin.display(description=_("answer"))
    def answered(self, answer: Answer) -> str:
        return answer.text if self.has_words(answer) else str(PRIVATE)

    state_label = state_column(STATE_LABELS)

    @admin.display(description=_("confidence"))
    def sure(self, answer: Answer) -> str:
        return "-" if answer.confidence is None else f"{answer.confidence:.0%}"

    @admin.display(description=_("supported"), ordering="supported")
    def support(self, answer: Answer) -> str:
        return "-" if answer.supported is None else f"{answer.supported:.0%}"

    @admin.display(description=_("helpful"))
    def helpful(self, answer: Answer) -> str:
        ratings = [each.helpful for each in answer.feedback.all()]
        return f"{sum(ratings)} / {len(ratings)}" if ratings else "-"

    @admin.display(description=_("cost"), ordering="cost")
    def costs(self, answer: Answer) -> str:
        return f"{answer.cost:f}" if answer.cost else "-"

    @admin.display(description=_("duration"), ordering="milliseconds")
    def took(self, answer: Answer) -> str:
        return f"{answer.milliseconds:,.0f} ms"

    @admin.display(description=_("steps"))
    def what_was_done(self, answer: Answer) -> str:
        private = not self.has_words(answer)
        return "\n".join(
            f"{step['name']}: {step['milliseconds']:.0f} ms"
            + ("" if private or not step["detail"] else f" ({step['detail']})")
            for step in answer.steps
        )
