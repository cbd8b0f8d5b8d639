"""The pages of golden queries and judgements besides Django's own."""

from __future__ import annotations

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.pages import ActionPages, ReadOnly, actor
from search.errors import JudgementError
from search.tuning.admin.golden_forms import ImportForm
from search.tuning.golden import exchange, judging
from search.tuning.models import GoldenQuery, Judgement

JUDGE = "tuning.add_judgement"


class GoldenPages(ActionPages[GoldenQuery]):
    """Pages of the golden queries' ModelAdmin: import, export, judge, undo."""

    def get_urls(self) -> list[URLPattern]:
        return [
            self.own_page("import/", self.import_view, "import"),
            self.own_page("export/", self.export_view, "export"),
            self.own_page("<int:pk>/judge/", self.judge_view, "judge"),
            self.own_page("undo/", self.undo_view, "undo"),
            *super().get_urls(),
        ]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Import a file of judgements, and show the rejected lines."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ImportForm(request.POST or None, request.FILES or None)
        done = None
        if request.method == "POST" and form.is_valid():
            given = form.cleaned_data
            try:
                done = exchange.import_file(
                    given["file_format"],
                    given["file"].read(),
                    queries=given["queries"].read() if given["queries"] else None,
                    judge=given["judge"],
                    acting_user=actor(request),
                )
            except JudgementError as error:
                form.add_error("file", str(error))
        context = {"form": form, "done": done}
        return self.shown(
            request, "tuning/goldenquery/import.html", gettext("Import judgements"), context
        )

    def export_view(self, request: HttpRequest) -> HttpResponse:
        if not request.user.has_perm("tuning.view_judgement"):
            raise PermissionDenied
        try:
            made = exchange.export(request.GET.get("to", "csv"), viewer=request.user)
        except JudgementError as error:
            self.message_user(request, str(error), messages.ERROR)
            return redirect("admin:tuning_goldenquery_changelist")
        disposition = f'attachment; filename="{made.file_name}"'
        headers = {"Content-Disposition": disposition}
        return HttpResponse(made.content, content_type=made.media_type, headers=headers)

    def judge_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Save the person's own grades from the query's page."""
        query = self.get_object(request, str(pk))
        if query is None or not request.user.has_perm(JUDGE):
            raise PermissionDenied
        if request.method == "POST":
            try:
                with transaction.atomic():
                    count = self._judge(request, query)
                if count:
                    self.message_user(
                        request, gettext("Your grades have been saved."), messages.SUCCESS
                    )
            except JudgementError as error:
                self.message_user(request, capfirst(str(error)), messages.ERROR)
        return self.back_to(pk)

    def _judge(self, request: HttpRequest, query: GoldenQuery) -> int:
        user, count = actor(request), 0
        given = [
            (name.removeprefix("grade-"), grade)
            for name, grade in request.POST.items()
            if name.startswith("grade-")
        ]
        if named := request.POST.get("document", "").strip():
            given.append((named, request.POST.get("new_grade", "")))
        for name, grade in given:
            document = exchange.find_document(name, viewer=user)
            if grade in {"0", "1", "2", "3"}:
                judging.judge(query.text, query.collections, document, int(grade), acting_user=user)
            else:
                judging.clear(query, document, acting_user=user)
            count += 1
        return count

    def undo_view(self, request: HttpRequest) -> HttpResponse:
        if not request.user.has_perm(JUDGE):
            raise PermissionDenied
        if request.method != "POST":
            return redirect("admin:tuning_goldenquery_changelist")
        done = judging.undo(acting_user=actor(request))
        self.message_user(
            request,
            done.message if done else gettext("There is nothing to undo."),
            messages.SUCCESS if done else messages.INFO,
        )
        if done is None or done.query is None:
            return redirect("admin:tuning_goldenquery_changelist")
        return self.back_to(done.query.pk)


@admin.register(Judgement)
class JudgementAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    """All judgements of documents that the reader may see, read-only."""

    empty_text = _("No judgements yet. Judge results in the workbench or on a golden query's page.")
    list_display = ("query", "title", "grade", "judge_name", "note", "updated")
    list_display_links = None
    list_select_related = ("query",)
    list_filter = ("grade", "judge_name")
    search_fields = ("query__folded", "title")
    actions = ("take_back",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Judgement]:
        visible = Judgement.objects.visible_to(request.user).select_related("query")
        return visible.order_by("query__folded", "title", "judge_name")

    @admin.action(description=_("Delete my judgements"), permissions=["judge"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[Judgement]) -> None:
        user, count = actor(request), 0
        for judgement in queryset.filter(judge_name=user.get_username()):
            if judgement.document is not None:
                count += judging.clear(judgement.query, judgement.document, acting_user=user)
        others = queryset.exclude(judge_name=user.get_username()).count()
        message = ngettext(
            "%(count)d of your judgements was deleted.",
            "%(count)d of your judgements were deleted.",
            count,
        ) % {"count": count}
        if others:
            message += " " + ngettext(
                "%(count)d judgement of another person was kept.",
                "%(count)d judgements of other people were kept.",
                others,
            ) % {"count": others}
        self.message_user(request, message, messages.SUCCESS)

    def has_judge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(JUDGE)
