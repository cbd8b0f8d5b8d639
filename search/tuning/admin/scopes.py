"""Profiles by scope in the admin: which profile searches which collections."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget

from common.admin.mixins import ViewersForm
from ingestion.files.filetypes import TYPE_LABELS
from ingestion.models import Collection
from search.models import ScopeProfile, SearchProfile
from search.models.profiles import in_force_first
from search.models.scopes import names_in_force


class ScopeForm(forms.ModelForm):  # type: ignore[type-arg]
    media_type = forms.ChoiceField(
        label=_("Document type"),
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=ScopeProfile._meta.get_field("media_type").help_text,
    )
    profile = forms.ChoiceField(
        label=_("Profile"),
        widget=UnfoldAdminSelectWidget,
        help_text=ScopeProfile._meta.get_field("profile").help_text,
    )

    class Meta:
        model = ScopeProfile
        fields = ("collection", "media_type", "profile", "note")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        types = sorted(TYPE_LABELS.items(), key=lambda each: each[1].casefold())
        self._offer("media_type", [("", "---------"), *types])
        names = [(name, str(row)) for name, row in names_in_force().items()]
        current = self.instance.profile
        if current and current not in dict(names):
            label = gettext("%(name)s (not published)") % {"name": current}
            names.insert(0, (current, label))
        self._offer("profile", names)

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields.get(name)  # missing for people who may only view
        if isinstance(field, forms.ChoiceField):
            field.choices = choices


@admin.register(ScopeProfile)
class ScopeProfileAdmin(ViewersForm, ModelAdmin):  # type: ignore[misc]
    empty_text = _("Every collection and document type is ranked by the site's profile.")
    form = ScopeForm
    list_display = ("label", "kind", "profile", "in_force", "note")
    list_select_related = ("collection",)
    search_fields = ("collection__name", "media_type", "profile", "note")
    list_before_template = "admin/steelyard/scopes_note.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ScopeProfile]:
        queryset: QuerySet[ScopeProfile] = super().get_queryset(request)
        readable = Collection.objects.visible_to(request.user)
        published = SearchProfile.objects.filter(name=OuterRef("profile"))
        published = published.exclude(state=SearchProfile.State.DRAFT)
        in_force = Subquery(published.order_by(*in_force_first()).values("version")[:1])
        rows = queryset.filter(Q(collection=None) | Q(collection__in=readable))
        return rows.annotate(version_in_force=in_force)

    @admin.display(description=_("scope"), ordering="collection__name")
    def label(self, row: ScopeProfile) -> str:
        return row.label

    @admin.display(description=_("kind"))
    def kind(self, row: ScopeProfile) -> str:
        return gettext("Document type") if row.media_type else gettext("Collection")

    @admin.display(description=_("version in force"))
    def in_force(self, row: ScopeProfile) -> str:
        version = getattr(row, "version_in_force", None)
        return f"v{version}" if version else gettext("Not published: the site's is used")
