"""Golden queries in the admin: list, form with judgements, import and export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import (
    Case,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.accounts.models import User
from common.admin.mixins import OwnPages, ViewersForm, actor, own_page
from common.api.requests import states
from ingestion.models import Collection, Document
from search.errors import JudgementError, SearchError
from search.models import SearchProfile
from search.tuning import golden_import_export as exchange
from search.tuning import golden_queries as golden
from search.tuning import judging
from search.tuning.evaluation import measures
from search.tuning.golden_file_formats import FORMATS
from search.tuning.models import EvaluationRun, GoldenQuery, Judgement

JUDGE = "tuning.add_judgement"
GRADES = [
    ("", _("Not judged")),
    *((str(grade), f"{grade}: {label}") for grade, label in judging.GRADES.items()),
]


def judge(posted: Mapping[str, Any], query: GoldenQuery, user: User) -> None:
    """Write the grades of the query's page.

    They are `grade-ID` of documents that the person has graded, and `new_grade` of `document`.
    Raises JudgementError.
    """
    grades = [
        (name.removeprefix("grade-"), grade)
        for name, grade in posted.items()
        if name.startswith("grade-")
    ]
    if new_document := posted.get("document", "").strip():
        grades.append((new_document, posted.get("new_grade", "")))
    for name, grade in grades:
        document = exchange.find_document(name, viewer=user)
        if grade in {"0", "1", "2", "3"}:
            judging.judge(query.text, query.collections, document, int(grade), acting_user=user)
        else:
            judging.clear(query, document, acting_user=user)


class GoldenQueryForm(forms.ModelForm):  # type: ignore[type-arg]
    """A golden query with the person's grades; documents are named by id, source, file name or
    title.
    """

    collections = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_(
            "Collections to search; none selected: all. Only people who may read them "
            "see the query."
        ),
    )
    must_be_first = forms.CharField(
        required=False,
        max_length=1000,
        widget=UnfoldAdminTextInputWidget,
        help_text=_(
            "The document that must be the first result: its id, source, file name or "
            "title. The gate refuses profiles that do not rank it first."
        ),
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
            self.fields["must_be_first"].help_text += " " + gettext("Currently: “%(title)s”.") % {
                "title": first.title
            }
        elif first is not None:
            # A person who may not see it must not replace it.
            del self.fields["must_be_first"]

    def _may_see(self, document: Document) -> bool:
        return Document.objects.visible_to(self.viewer).filter(pk=document.pk).exists()

    def clean_must_be_first(self) -> Document | None:
        name = str(self.cleaned_data["must_be_first"]).strip()
        try:
            return exchange.find_document(name, viewer=self.viewer) if name else None
        except JudgementError as error:
            raise forms.ValidationError(capfirst(str(error))) from error

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            self._write(cleaned)
        return cleaned

    def _write(self, cleaned: dict[str, Any]) -> None:
        """Save the query during validation, so that errors of the service become form errors.

        The admin's view is one transaction, which a later failure rolls back.
        """
        names = ("text", "collections", "query_class", "enabled", "note", "must_be_first")
        fields = {name: cleaned[name] for name in names if name in cleaned}
        try:
            with transaction.atomic():
                if self.instance.pk:
                    query = golden.edit(self.instance, fields, acting_user=self.viewer)
                else:
                    query = golden.create(
                        cleaned["text"], cleaned["collections"], fields, acting_user=self.viewer
                    )
                if self.viewer.has_perm(JUDGE):
                    judge(self.data, query, self.viewer)
        except SearchError as error:  # also what a search of the text raises
            raise forms.ValidationError(capfirst(str(error))) from error
        self.written = query

    def _post_clean(self) -> None:
        """Do nothing: the service has validated and saved the row."""


class JudgementImportForm(forms.Form):
    """A file of judgements."""

    file = forms.FileField(widget=UnfoldAdminFileFieldWidget)
    file_format = forms.ChoiceField(
        label=_("Format"),
        choices=[(name, each.label) for name, each in FORMATS.items()],
        widget=UnfoldAdminSelectWidget,
    )
    queries = forms.FileField(
        required=False,
        widget=UnfoldAdminFileFieldWidget,
        help_text=_("BEIR’s queries.jsonl, unless the file is a ZIP that contains it."),
    )
    judge = forms.CharField(
        required=False,
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("The judge of lines that name none."),
    )


@admin.register(GoldenQuery)
class GoldenQueryAdmin(ViewersForm, OwnPages[GoldenQuery], ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "No golden queries yet. Judge results in the workbench, add a question here, or "
        "import judgements."
    )
    form = GoldenQueryForm
    list_display = ("text", "judged", "query_class", "first_label", "last_measure", "enabled")
    list_filter = ("query_class", "enabled")
    search_fields = ("folded",)
    fields = ("text", "collections", "must_be_first", "query_class", "enabled", "note")
    change_form_template = "admin/tuning/goldenquery/page.html"
    change_list_template = "admin/tuning/goldenquery/list.html"
    list_before_template = "admin/tuning/goldenquery/note.html"

    # --- display ---------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenQuery]:
        viewer = actor(request)
        firsts = Document.objects.visible_to(viewer).filter(pk=OuterRef("must_be_first"))
        rows = golden.listed(viewer).annotate(
            first_title=Subquery(firsts.values("title")[:1]), last=_last_measure()
        )
        return rows.order_by("folded", "pk")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The fields; an uneditable must-be-first document is shown by its title."""
        if self._first_is_editable(request, obj):
            return self.fields
        return tuple("first_label" if name == "must_be_first" else name for name in self.fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if self._first_is_editable(request, obj) else ("first_label",)

    def _first_is_editable(self, request: HttpRequest, query: Any) -> bool:
        if query is None:
            return True
        hidden = query.must_be_first_id is not None and query.first_title is None
        return self.has_change_permission(request, query) and not hidden

    @admin.display(description=_("judged documents"), ordering="judged")
    def judged(self, query: Any) -> int:
        return int(query.judged)

    @admin.display(description=_("must be first"))
    def first_label(self, query: Any) -> str:
        return query.first_title or "-"

    @admin.display(description=format_lazy(_("last {measure}"), measure=measures.LEADING))
    def last_measure(self, query: Any) -> str:
        return "-" if query.last is None else f"{float(query.last):.3f}"

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        return {
            "may_import": request.user.has_perm("tuning.add_goldenquery"),
            "may_export": request.user.has_perm("tuning.view_judgement"),
            "formats": [(name, each.label) for name, each in FORMATS.items()],
        }

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        query = context.get("original")
        if query is not None:
            rows = Judgement.objects.visible_to(request.user).filter(query=query)
            may_judge = self.has_change_permission(request, query) and request.user.has_perm(JUDGE)
            judge = request.user.get_username() if may_judge else ""
            context |= {
                "rows": [_row(each, judge) for each in rows.order_by("title", "judge_name")],
                "grades": GRADES,
                "may_judge": may_judge,
                "posted_document": request.POST.get("document", ""),  # of a form with an error
                "posted_grade": request.POST.get("new_grade", "3"),
            }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    # --- pages: import and export ------------------------------------------------------------

    @own_page("import/")
    @states(most_bytes="MAX_UPLOAD_BYTES")
    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Import a file of judgements, and show the rejected lines."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = JudgementImportForm(request.POST or None, request.FILES or None)
        result = None
        if request.method == "POST" and form.is_valid():
            fields = form.cleaned_data
            try:
                result = exchange.import_file(
                    fields["file_format"],
                    fields["file"].read(),
                    queries=fields["queries"].read() if fields["queries"] else None,
                    judge=fields["judge"],
                    acting_user=actor(request),
                )
            except SearchError as error:
                form.add_error("file", str(error))
        context = {"form": form, "done": result}
        return self.page(
            request, "tuning/goldenquery/import.html", gettext("Import judgements"), context
        )

    @own_page("export/")
    def export_view(self, request: HttpRequest) -> HttpResponse:
        if not request.user.has_perm("tuning.view_judgement"):
            raise PermissionDenied
        try:
            chosen, content = exchange.export(request.GET.get("to", "csv"), viewer=request.user)
        except JudgementError as error:
            self.message_user(request, str(error), messages.ERROR)
            return redirect("admin:tuning_goldenquery_changelist")
        headers = {"Content-Disposition": f'attachment; filename="{chosen.file_name}"'}
        return HttpResponse(content, content_type=chosen.media_type, headers=headers)

    # --- saving: through `golden_queries` --------------------------------------------------------

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        return form.written

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Do nothing: the form has saved the query."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: there are no related forms."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        judged = isinstance(obj, GoldenQuery) and obj.judgements.exists()
        return allowed and not judged

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        queries = list(objs)
        lacking = set()
        if any(query.judgements.exists() for query in queries):
            lacking.add(gettext("golden queries with judgements (disable them instead)"))
        return (
            [str(query) for query in queries],
            {gettext("golden queries"): len(queries)},
            lacking,
            [],
        )

    def delete_model(self, request: HttpRequest, obj: GoldenQuery) -> None:
        golden.delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[GoldenQuery]) -> None:
        for query in queryset:
            golden.delete(query)


def _row(judgement: Judgement, judge: str) -> dict[str, Any]:
    """A line of the grades; `judge` is the person who may change their own, if any."""
    return {
        "judgement": judgement,
        "label": judging.GRADES[judgement.grade],
        "editable": judgement.judge_name == judge and judgement.document_id is not None,
        "value": str(judgement.grade),
    }


def _last_measure() -> Subquery:
    """A golden query's leading measure under the active profile, in the latest run that has it.

    A run of another profile has it where the active one was the baseline, as when publishing.
    """
    active = SearchProfile.State.ACTIVE
    runs = EvaluationRun.objects.filter(
        Q(profile__state=active) | Q(baseline__state=active), state=EvaluationRun.State.DONE
    )
    measured = Func(
        "by_query",
        Cast(OuterRef("pk"), TextField()),
        Case(When(profile__state=active, then=Value("measures")), default=Value("was")),
        Value(measures.LEADING),
        function="jsonb_extract_path_text",
        output_field=TextField(),
    )
    return Subquery(runs.order_by("-created", "-pk").values(of_query=measured)[:1])
