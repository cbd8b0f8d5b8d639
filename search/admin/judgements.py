"""W3: everyone's judgements in the admin, to read; one's own to take back."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from ingestion.admin.visibility import actor
from search.admin.golden_pages import JUDGE
from search.admin.pages import ReadOnly
from search.models import Judgement
from search.tuning import judging


@admin.register(Judgement)
class JudgementAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    """Everyone's judgements of the documents that the reader may see; made on other pages."""

    empty_text = (
        "Nobody has judged a document yet. Judge results in the workbench or on a golden "
        "query's page."
    )
    list_display = ("query", "title", "grade", "judge_name", "note", "updated")
    list_display_links = None
    list_select_related = ("query",)
    list_filter = ("grade", "judge_name")
    search_fields = ("query__folded", "title")
    actions = ("take_back",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Judgement]:
        visible = Judgement.objects.visible_to(request.user).select_related("query")
        return visible.order_by("query__folded", "title", "judge_name")

    @admin.action(description="Take my judgements back", permissions=["judge"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[Judgement]) -> None:
        user, count = actor(request), 0
        for judgement in queryset.filter(judge_name=user.get_username()):
            if judgement.document is not None:
                count += judging.clear(judgement.query, judgement.document, acting_user=user)
        others = queryset.exclude(judge_name=user.get_username()).count()
        told = f"{count} of your judgements taken back."
        if others:
            told += f" {others} of other people were left as they are."
        self.message_user(request, told, messages.SUCCESS)

    def has_judge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(JUDGE)
