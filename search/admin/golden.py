"""W3: golden queries and judgements in the admin; files in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Func, OuterRef, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from ingestion.models import Collection, Document
from search.errors import JudgementError
from search.evaluation import measures
from search.models import EvaluationRun, GoldenQuery, Judgement, SearchProfile
from search.tuning import exchange, judging
from search.tuning.formats import FORMATS

if TYPE_CHECKING:
    from django.contrib.auth.models import User

JUDGE = "search.add_judgement"
GRADES = [
    ("", "Not judged"),
    *((str(grade), f"{grade}: {said}") for grade, said in judging.GRADES.items()),
]


class GoldenQueryForm(forms.ModelForm):  # type: ignore[type-arg]
    """A golden query; documents are named as people know them."""

    collections = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Where it is asked; none ticked: in all. Only people who may read these see it.",
    )
    must_be_first = forms.CharField(
        required=False,
        max_length=1000,
        widget=UnfoldAdminTextInputWidget,
        help_text="The document that must be the first result: its id, source, file name or title. "
        "A profile that pushes it off is not published.",
    )

    class Meta:
        model = GoldenQuery
        fields = ("text", "collections", "query_class", "enabled", "note")
        widgets = {"note": UnfoldAdminTextareaWidget(attrs={"rows": 2})}

    viewer: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        visible = Collection.objects.visible_to(self.viewer)
        self.fields["collections"].choices = list(visible.values_list("slug", "name"))  # type: ignore[attr-defined]
        first = self.instance.must_be_first if self.instance.pk else None
        if first is not None and self._may_see(first):
            self.initial["must_be_first"] = str(first.public_id)
            self.fields["must_be_first"].help_text += f" Now: “{first.title}”."
        elif first is not None:
            # Whoever cannot see it cannot know what they would replace.
            del self.fields["must_be_first"]

    def _may_see(self, document: Document) -> bool:
        return Document.objects.visible_to(self.viewer).filter(pk=document.pk).exists()

    def clean_must_be_first(self) -> Document | None:
        name = str(self.cleaned_data["must_be_first"]).strip()
        try:
            return exchange.find_document(name, viewer=self.viewer) if name else None
        except JudgementError as error:
            raise forms.ValidationError(f"{str(error)[:1].upper()}{str(error)[1:]}") from error

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            self._write(cleaned)
        return cleaned

    def _write(self, cleaned: dict[str, Any]) -> None:
        """Writes the query in the form's validation: the services know what is wrong, and say it.

        The admin's view is one transaction, which a later failure takes back.
        """
        names = ("text", "collections", "query_class", "enabled", "note", "must_be_first")
        fields = {name: cleaned[name] for name in names if name in cleaned}
        try:
            with transaction.atomic():
                if self.instance.pk:
                    done = judging.edit_query(self.instance, fields, acting_user=self.viewer)
                else:
                    done = judging.create_query(
                        cleaned["text"], cleaned["collections"], fields, acting_user=self.viewer
                    )
        except JudgementError as error:
            raise forms.ValidationError(str(error)) from error
        self.written = done

    def _post_clean(self) -> None:
        """Nothing: the service has checked and written the row."""


class ImportForm(forms.Form):
    """A file of judgements."""

    file = forms.FileField(widget=UnfoldAdminFileFieldWidget)
    file_format = forms.ChoiceField(
        label="Format",
        choices=[(name, each.label) for name, each in FORMATS.items()],
        widget=UnfoldAdminSelectWidget,
    )
    queries = forms.FileField(
        required=False,
        widget=UnfoldAdminFileFieldWidget,
        help_text="The topics (TREC) or queries.jsonl (BEIR), where the file is no ZIP that holds "
        "them.",
    )
    judge = forms.CharField(
        required=False,
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text="Who judged, where the file does not say.",
    )


class DiffersFilter(admin.SimpleListFilter):
    title = "judges"
    parameter_name = "judges"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("differ", "Differ"), ("far", "Differ by 2 or more"), ("none", "Nobody yet")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "differ":
                return queryset.filter(spread__gt=0)
            case "far":
                return queryset.filter(spread__gt=1)
            case "none":
                return queryset.filter(judged=0)
        return queryset


@admin.register(GoldenQuery)
class GoldenQueryAdmin(ModelAdmin):  # type: ignore[misc]
    empty_text = (
        "No question has been judged yet. Judge results in the workbench, add a question "
        "here, or import judgements."
    )
    form = GoldenQueryForm
    list_display = (
        "text", "judged", "spread_shown", "query_class", "first_shown", "last_measure", "origin",
        "enabled",
    )  # fmt: skip
    list_filter = (DiffersFilter, "origin", "query_class", "enabled")
    search_fields = ("folded",)
    fields = ("text", "collections", "must_be_first", "query_class", "enabled", "note")
    change_form_template = "admin/search/goldenquery/page.html"
    change_list_template = "admin/search/goldenquery/list.html"
    list_before_template = "admin/search/goldenquery/agreement.html"

    # --- what is shown ---------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenQuery]:
        viewer: User = request.user  # type: ignore[assignment]
        firsts = Document.objects.visible_to(viewer).filter(pk=OuterRef("must_be_first"))
        rows = judging.listed(viewer).annotate(
            first_title=Subquery(firsts.values("title")[:1]), last=_last_measure()
        )
        return rows.order_by("folded", "pk")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Where it cannot be edited, the title of what must be first, for who may see it."""
        if self._first_is_editable(request, obj):
            return self.fields
        return tuple("first_shown" if name == "must_be_first" else name for name in self.fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if self._first_is_editable(request, obj) else ("first_shown",)

    def _first_is_editable(self, request: HttpRequest, query: Any) -> bool:
        if query is None:
            return True
        hidden = query.must_be_first_id is not None and query.first_title is None
        return self.has_change_permission(request, query) and not hidden

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, **kwargs)
        return type("BoundGoldenQueryForm", (form,), {"viewer": request.user})

    @admin.display(description="judged documents", ordering="judged")
    def judged(self, query: Any) -> int:
        return int(query.judged)

    @display(
        description="judges differ by",
        ordering="spread",
        label={"far": "danger", "near": "warning"},
    )
    def spread_shown(self, query: Any) -> tuple[str, str] | str:
        if not query.spread:
            return "-"
        return ("far" if query.spread > 1 else "near"), str(query.spread)

    @admin.display(description="must be first")
    def first_shown(self, query: Any) -> str:
        return query.first_title or "-"

    @admin.display(description=f"last {measures.LEADING}")
    def last_measure(self, query: Any) -> str:
        return "-" if query.last is None else f"{float(query.last):.3f}"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {
            "alpha": judging.agreement(request.user),
            "may_import": request.user.has_perm("search.add_goldenquery"),
            "may_export": request.user.has_perm("search.view_judgement"),
            "formats": [(name, each.label) for name, each in FORMATS.items()],
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)  # type: ignore[no-any-return]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        query = context.get("original")
        if query is not None:
            rows = Judgement.objects.visible_to(request.user).filter(query=query)
            context |= {
                "rows": [_row(each, request) for each in rows.order_by("title", "judge_name")],
                "grades": GRADES,
                "may_judge": request.user.has_perm(JUDGE),
            }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    # --- pages -----------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        def at(address: str, view: Any, name: str) -> URLPattern:
            guarded = self.admin_site.admin_view(view)
            return path(address, guarded, name=f"search_goldenquery_{name}")  # type: ignore[no-any-return]

        return [
            at("import/", self.import_view, "import"),
            at("export/", self.export_view, "export"),
            at("<int:pk>/judge/", self.judge_view, "judge"),
            at("undo/", self.undo_view, "undo"),
            *super().get_urls(),
        ]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """A file's judgements, taken in; every line that was not, with its reason."""
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
                    acting_user=_user(request),
                )
            except JudgementError as error:
                form.add_error("file", str(error))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Import judgements",
            "form": form,
            "done": done,
        }
        return TemplateResponse(request, "admin/search/goldenquery/import.html", context)

    def export_view(self, request: HttpRequest) -> HttpResponse:
        if not request.user.has_perm("search.view_judgement"):
            raise PermissionDenied
        try:
            made = exchange.export(request.GET.get("to", "csv"), viewer=request.user)
        except JudgementError as error:
            self.message_user(request, str(error), messages.ERROR)
            return redirect("admin:search_goldenquery_changelist")
        disposition = f'attachment; filename="{made.file_name}"'
        headers = {"Content-Disposition": disposition}
        return HttpResponse(made.content, content_type=made.media_type, headers=headers)

    def judge_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Takes the person's own grades from the query's page."""
        query = self.get_object(request, str(pk))
        if query is None or not request.user.has_perm(JUDGE):
            raise PermissionDenied
        if request.method == "POST":
            try:
                with transaction.atomic():
                    count = self._judge(request, query)
                if count:
                    self.message_user(request, "Your grades are saved.", messages.SUCCESS)
            except JudgementError as error:
                text = str(error)
                self.message_user(request, f"{text[:1].upper()}{text[1:]}", messages.ERROR)
        return redirect("admin:search_goldenquery_change", pk)

    def _judge(self, request: HttpRequest, query: GoldenQuery) -> int:
        user, count = _user(request), 0
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
            return redirect("admin:search_goldenquery_changelist")
        done = judging.undo(acting_user=_user(request))
        self.message_user(
            request,
            done.message if done else "There is nothing of yours to take back.",
            messages.SUCCESS if done else messages.INFO,
        )
        if done is None or done.query is None:
            return redirect("admin:search_goldenquery_changelist")
        return redirect("admin:search_goldenquery_change", done.query.pk)

    # --- what is done: all of it by judging -----------------------------------------------------

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        return form.written

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Nothing: the form has written it."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Nothing: there is none."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        judged = isinstance(obj, GoldenQuery) and obj.judgements.exists()
        return allowed and not judged

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        queries = list(objs)
        lacking = set()
        if any(query.judgements.exists() for query in queries):
            lacking.add("golden queries with judgements (none is lost: switch them off instead)")
        return [str(query) for query in queries], {"golden queries": len(queries)}, lacking, []

    def delete_model(self, request: HttpRequest, obj: GoldenQuery) -> None:
        judging.delete_query(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[GoldenQuery]) -> None:
        for query in queryset:
            judging.delete_query(query)


@admin.register(Judgement)
class JudgementAdmin(ModelAdmin):  # type: ignore[misc]
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
        user, count = _user(request), 0
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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _row(judgement: Judgement, request: HttpRequest) -> dict[str, Any]:
    own = judgement.judge_name == request.user.get_username()
    return {
        "judgement": judgement,
        "label": judging.GRADES[judgement.grade],
        "editable": own and judgement.document_id is not None and request.user.has_perm(JUDGE),
        "value": str(judgement.grade),
    }


def _last_measure() -> Subquery:
    """What the active profile's last run measured of a golden query."""
    runs = EvaluationRun.objects.filter(
        kind=EvaluationRun.Kind.GOLDEN,
        state=EvaluationRun.State.DONE,
        profile__state=SearchProfile.State.ACTIVE,
    )
    measured = Func(
        "by_query",
        Cast(OuterRef("pk"), TextField()),
        Value("measures"),
        Value(measures.LEADING),
        function="jsonb_extract_path_text",
        output_field=TextField(),
    )
    return Subquery(runs.order_by("-created", "-pk").values(of_query=measured)[:1])


def _user(request: HttpRequest) -> User:
    return request.user  # type: ignore[return-value]
