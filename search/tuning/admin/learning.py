"""The learned classifier in the admin: train a version, read its figures, put it in use."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminDecimalFieldWidget

from common.admin.pages import ActionPages, ReadOnly, actor
from search.domain import QueryClass
from search.errors import SearchError
from search.models import LearnedClassifier
from search.query.learned import THRESHOLD
from search.tuning.golden import learning


class TrainForm(forms.Form):
    """The threshold of the version to train."""

    threshold = forms.FloatField(
        initial=THRESHOLD,
        min_value=0,
        max_value=1,
        widget=UnfoldAdminDecimalFieldWidget(attrs={"step": "any"}),
        help_text=LearnedClassifier._meta.get_field("threshold").help_text,
    )


@admin.register(LearnedClassifier)
class LearnedClassifierAdmin(ReadOnly, ActionPages[LearnedClassifier], ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "Nothing has been learned yet. Give golden queries their class, then train a classifier: "
        "it classifies questions that no rule matches."
    )
    list_display = ("version", "state", "queries", "by_rules", "with_it", "trained_by", "created")
    list_select_related = ("trained_by",)
    change_form_template = "admin/search/learnedclassifier/page.html"
    change_list_template = "admin/search/learnedclassifier/list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[LearnedClassifier]:
        return super().get_queryset(request).defer("model")  # type: ignore[no-any-return]

    @display(description=_("state"), label={"used": "success", "unused": ""})
    def state(self, row: LearnedClassifier) -> tuple[str, str]:
        return ("used", gettext("In use")) if row.in_use else ("unused", gettext("Not in use"))

    @admin.display(description=_("right by the rules alone"))
    def by_rules(self, row: LearnedClassifier) -> str:
        return _share(row.measures["rules"], row.queries)

    @admin.display(description=_("right with it"))
    def with_it(self, row: LearnedClassifier) -> str:
        return _share(row.measures["both"], row.queries)

    def get_urls(self) -> list[URLPattern]:
        return [
            self.own_page("train/", self.train_view, "train"),
            self.own_page("<int:pk>/use/", self.use_view, "use"),
            self.own_page("<int:pk>/stop/", self.stop_view, "stop"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {"may_train": request.user.has_perm(learning.TRAIN), **(extra_context or {})}
        return super().changelist_view(request, context)  # type: ignore[no-any-return]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        row = self.seen(request, object_id)
        context = {
            "row": row,
            "accuracies": _accuracies(row),
            "verdict": learning.verdict(row.measures),
            "thresholds": row.measures["thresholds"],
            "unmatched": row.measures["unmatched"],
            **_confusion(row.measures["confusion"]),
            "may_use": request.user.has_perm(learning.USE),
        }
        return super().change_view(  # type: ignore[no-any-return]
            request, object_id, form_url, {**context, **(extra_context or {})}
        )

    def train_view(self, request: HttpRequest) -> HttpResponse:
        """Show what there is to learn from, or train a version."""
        if not request.user.has_perm(learning.TRAIN) or not self.has_view_permission(request):
            raise PermissionDenied
        form = TrainForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                row = learning.learn(
                    acting_user=actor(request), threshold=form.cleaned_data["threshold"]
                )
            except SearchError as error:
                form.add_error(None, str(error))
            else:
                text = gettext("%(row)s was trained; it is not in use yet.") % {"row": row}
                told = f"{text} {learning.verdict(row.measures)}"
                self.message_user(request, told, messages.SUCCESS)
                return self.back_to(row.pk)
        counts = learning.counts_by_class(learning.labelled_queries())
        context = {
            "form": form,
            "counts": [(each.value, counts.get(each, 0)) for each in QueryClass],
            "problem": learning.too_few(counts),
            "least": learning.MIN_OF_CLASS,
        }
        title = gettext("Train a classifier")
        return self.shown(request, "search/learnedclassifier/train.html", title, context)

    def use_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        def act(row: LearnedClassifier) -> str:
            learning.use(row, acting_user=actor(request))
            return gettext("%(row)s is in use from the next search.") % {"row": row}

        return self.acted(request, pk, act, permission=learning.USE)

    def stop_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        def act(row: LearnedClassifier) -> str:
            learning.stop(row, acting_user=actor(request))
            return gettext("%(row)s is not in use any more.") % {"row": row}

        return self.acted(request, pk, act, permission=learning.USE)


def _share(right: int, total: int) -> str:
    return f"{right} ({right / total:.0%})" if total else "-"


def _accuracies(row: LearnedClassifier) -> list[tuple[str, str]]:
    """The accuracies to compare, each with its description."""
    found = row.measures
    return [
        (gettext("The rules, then this classifier"), _share(found["both"], row.queries)),
        (gettext("The rules alone"), _share(found["rules"], row.queries)),
        (gettext("This classifier alone"), _share(found["learned"], row.queries)),
        (
            gettext("Always the commonest class (%(name)s)") % {"name": found["commonest"]},
            _share(found["majority"], row.queries),
        ),
    ]


def _confusion(found: dict[str, dict[str, int]]) -> dict[str, Any]:
    """The table of true and given classes, without empty columns."""
    names = [each.value for each in QueryClass]
    columns = [name for name in names if any(name in row for row in found.values())]
    rows = [
        (name, [(found[name].get(column, 0), column == name) for column in columns])
        for name in names
        if name in found
    ]
    return {"columns": columns, "confusion": rows}
