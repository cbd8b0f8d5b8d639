"""Golden queries in the admin: the list and the form, with the judgements of each."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
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
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.mixins import ViewersForm, actor
from ingestion.models import Document
from search.domain import QueryClass
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.read import read_query
from search.errors import SearchError
from search.models import SearchProfile
from search.presentation.labels import CLASS_LABELS
from search.query.rule_classifier import classify
from search.tuning import golden_queries as golden
from search.tuning import judging
from search.tuning.admin.golden_pages import JUDGE, GoldenPages, GoldenQueryForm
from search.tuning.evaluation import measures
from search.tuning.golden_file_formats import FORMATS
from search.tuning.models import EvaluationRun, GoldenQuery, Judgement

GRADES = [
    ("", _("Not judged")),
    *((str(grade), f"{grade}: {label}") for grade, label in judging.GRADES.items()),
]


class DiffersFilter(admin.SimpleListFilter):
    title = _("judges")
    parameter_name = "judges"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("differ", gettext("Differ")),
            ("far", gettext("Differ by 2 or more")),
            ("none", gettext("No judgements")),
        ]

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
class GoldenQueryAdmin(ViewersForm, GoldenPages, ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "No golden queries yet. Judge results in the workbench, add a question here, or "
        "import judgements."
    )
    form = GoldenQueryForm
    list_display = (
        "text", "judged", "spread_label", "class_label", "first_label", "last_measure",
        "enabled",
    )  # fmt: skip
    list_filter = (DiffersFilter, "query_class", "enabled")
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

    @display(
        description=_("largest disagreement"),
        ordering="spread",
        label={"far": "danger", "near": "warning"},
    )
    def spread_label(self, query: Any) -> tuple[str, str] | str:
        if not query.spread:
            return "-"
        return ("far" if query.spread > 1 else "near"), str(query.spread)

    @admin.display(description=_("query class"), ordering="query_class")
    def class_label(self, query: Any) -> str:
        """The class that a person chose, else in grey the detected one."""
        if query.query_class:
            return str(CLASS_LABELS[QueryClass(query.query_class)])
        return format_html('<span class="sy-muted">{}</span>', query.detected)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list, with the class that the rules detect for each query of its page.

        A plugged-in model is not asked: the list would wait for it once a row.
        """
        changelist = super().get_changelist_instance(request)
        configured = configuration.current()  # one query a page, not one a row
        for query in changelist.result_list:
            query.detected = _detected(query.text, configured)
        return changelist

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

    # --- saving: through `golden.queries` --------------------------------------------------------

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


def _detected(text: str, configured: Configuration) -> str:
    """The label of the class that the rules give the text; "-" if no search can run it."""
    try:
        query = read_query(text, configured)
    except SearchError:
        return "-"
    return str(CLASS_LABELS[classify(query, configured.rules).query_class])


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
