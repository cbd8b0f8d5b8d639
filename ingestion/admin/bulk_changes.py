"""Bulk changes of documents: another collection, fewer readers, tags and metadata.

All are actions of the list. Their page posts to the list again, with the same selection.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
)

from common.admin.mixins import OwnPages, actor
from ingestion import services
from ingestion.admin.fields import ListField, MetadataFormField
from ingestion.documents.bulk_changes import MOST_MOVED
from ingestion.documents.restricted_readers import Arranged, Readers, UnknownReader
from ingestion.errors import IngestionError
from ingestion.metadata import check_key
from ingestion.models import Collection, Document
from ingestion.models.visibility import Viewer

MAX_LISTED = 10  # of the reasons why documents were left alone


class MoveForm(forms.Form):
    """The collection to move to, among those that `viewer` may read."""

    to = forms.ModelChoiceField(
        Collection.objects.none(),
        label=_("Collection"),
        widget=UnfoldAdminSelectWidget,
        empty_label=_("Choose a collection"),
    )

    def __init__(self, *args: Any, viewer: Viewer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        visible = Collection.objects.visible_to(viewer)
        self.fields["to"].queryset = visible  # type: ignore[attr-defined]


class ReadersForm(forms.Form):
    """The only readers of documents. `viewer` must be one of them, unless a superuser."""

    viewer: Any = None
    reader_groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"),
        label=_("Groups that may read it"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_(
            "Leave groups and people empty for all readers of its collection. Otherwise only these "
            "readers of the collection may read it, and superusers."
        ),
    )
    reader_people = ListField(
        required=False,
        label=_("People who may read it"),
        help_text=_("User names, separated by commas."),
    )

    def clean(self) -> dict[str, Any]:
        """Add `readers`: None for all readers of the collection."""
        cleaned = super().clean() or {}
        groups = [group.name for group in cleaned.get("reader_groups", ())]
        try:
            readers = Readers.named(groups, cleaned.get("reader_people", ()))
        except UnknownReader as error:
            self.add_error("reader_people", str(error))
            return cleaned
        if readers and (problem := readers.problem(self.viewer)):
            self.add_error("reader_groups", problem)
        return cleaned | {"readers": readers}


class AnnotateForm(forms.Form):
    """Changes of tags and metadata, at least one."""

    add_tags = ListField(
        required=False, label=_("Add tags"), help_text=_("Separate them by commas: pump, valve.")
    )
    remove_tags = ListField(required=False, label=_("Remove tags"))
    give = MetadataFormField()
    drop = ListField(
        required=False,
        label=_("Remove keys"),
        help_text=_("Keys of metadata, such as department, due."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["give"].label = _("Set metadata")

    def clean_drop(self) -> list[str]:
        try:
            return [check_key(key) for key in self.cleaned_data["drop"]]
        except IngestionError as error:
            raise ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and not any(cleaned.values()):
            raise ValidationError(_("Choose what to change: a tag or a key."))
        return cleaned


class ReadersFilter(admin.SimpleListFilter):
    title = _("readers")
    parameter_name = "readers"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("own", gettext("Fewer than the collection's")), ("all", gettext("All of these"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("own", "all"):
            return queryset
        return queryset.filter(audience__isnull=self.value() == "all")


def _applied(request: HttpRequest) -> Any:
    """The data posted from an action's page; None if the list requests the page itself."""
    return request.POST if "apply" in request.POST else None


class ArrangingPages(OwnPages[Document]):
    """A ModelAdmin mixin with the three actions."""

    @admin.action(description=_("Move to another collection…"), permissions=["change"])
    def move_selected(
        self, request: HttpRequest, queryset: QuerySet[Document]
    ) -> HttpResponse | None:
        """Ask for the collection, then move the documents there."""
        if not self.has_add_permission(request):
            problem = gettext("You may not add documents to a collection, so you may not move any.")
            self.message_user(request, problem, messages.ERROR)
            return None
        if self._are_too_many(request, queryset):
            return None
        form = MoveForm(_applied(request), viewer=actor(request))
        if not form.is_valid():
            title = gettext("Move documents to another collection")
            return self._page(request, queryset, form, "move_selected", title)
        to = form.cleaned_data["to"]
        arranged = services.move(queryset, to, acting_user=actor(request))
        self._report_move(request, arranged, to)
        return None

    @admin.action(description=_("Edit tags and metadata…"), permissions=["change"])
    def annotate_selected(
        self, request: HttpRequest, queryset: QuerySet[Document]
    ) -> HttpResponse | None:
        """Ask for the changes, then make them."""
        form = AnnotateForm(_applied(request))
        if not form.is_valid():
            title = gettext("Edit tags and metadata")
            return self._page(request, queryset, form, "annotate_selected", title)
        arranged = services.annotate(queryset, acting_user=actor(request), **form.cleaned_data)
        self._say_changed(request, arranged)
        return None

    @admin.action(description=_("Set readers…"), permissions=["change"])
    def restrict_selected(
        self, request: HttpRequest, queryset: QuerySet[Document]
    ) -> HttpResponse | None:
        """Ask for the readers, then set them."""
        if self._are_too_many(request, queryset):
            return None
        form = ReadersForm(_applied(request))
        form.viewer = actor(request)
        if not form.is_valid():
            return self._page(request, queryset, form, "restrict_selected", gettext("Set readers"))
        readers = form.cleaned_data["readers"]
        self._say_changed(request, services.restrict(queryset, readers, acting_user=actor(request)))
        return None

    def _are_too_many(self, request: HttpRequest, queryset: QuerySet[Document]) -> bool:
        """Whether there are too many documents for one request; if so, shows a message."""
        if are_too_many := queryset.count() > MOST_MOVED:
            problem = gettext("Choose at most %(most)d documents at a time.") % {"most": MOST_MOVED}
            self.message_user(request, problem, messages.ERROR)
        return are_too_many

    def _say_changed(self, request: HttpRequest, arranged: Arranged) -> None:
        sentence = ngettext(
            "%(count)d document was changed.", "%(count)d documents were changed.", arranged.count
        )
        self.message_user(request, sentence % {"count": arranged.count}, messages.SUCCESS)
        self._tell(request, arranged.refused)

    def _page(
        self,
        request: HttpRequest,
        queryset: QuerySet[Document],
        form: forms.Form,
        action: str,
        title: str,
    ) -> HttpResponse:
        across = request.POST.get("select_across", "0")
        # For all rows Django needs one key; keys come from the queryset, never from posted data.
        selection = queryset.values_list("pk", flat=True)
        context = {
            "form": form,
            "action": action,
            "count": queryset.count(),
            "documents": queryset[:MAX_LISTED],
            "checkbox": ACTION_CHECKBOX_NAME,
            "selected": selection[:1] if across == "1" else selection,
            "across": across,
            "back": request.get_full_path(),
        }
        return self.page(request, "ingestion/document/arrange.html", title, context)

    def _report_move(self, request: HttpRequest, arranged: Arranged, to: Collection) -> None:
        if arranged.count:
            sentence = ngettext(
                "%(count)d document was moved to “%(to)s”. It keeps its passages; reprocess it to "
                "apply the collection's settings.",
                "%(count)d documents were moved to “%(to)s”. They keep their passages; reprocess "
                "them to apply the collection's settings.",
                arranged.count,
            ) % {"count": arranged.count, "to": to.name}
            self.message_user(request, sentence, messages.SUCCESS)
        elif not arranged.refused:
            self.message_user(request, gettext("They are there already."), messages.WARNING)
        self._tell(request, arranged.refused)

    def _tell(self, request: HttpRequest, refused: Iterable[str]) -> None:
        """Show the first reasons why documents were left alone, and how many more there are."""
        reasons = list(refused)
        for reason in reasons[:MAX_LISTED]:
            self.message_user(request, reason, messages.WARNING)
        if (more := len(reasons) - MAX_LISTED) > 0:
            sentence = gettext("%(more)d more documents were not changed.") % {"more": more}
            self.message_user(request, sentence, messages.WARNING)
