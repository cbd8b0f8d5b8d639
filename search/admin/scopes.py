"""Profiles by scope in the admin: the profile of a collection or of a document type."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import ForeignKey, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget

from ingestion.models import Collection
from search.models import ScopeProfile, SearchProfile
from search.models.profiles import in_force_first
from search.models.scopes import TYPES, names_in_force


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
        types = sorted(TYPES.items(), key=lambda each: each[1].casefold())
        self._offer("media_type", [("", "---------"), *types])
        names = [(name, str(row)) for name, row in names_in_force().items()]
        held = self.instance.profile
        if held and held not in dict(names):
            names.insert(0, (held, gettext("%(name)s (not published)") % {"name": held}))
        self._offer("profile", names)

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields.get(name)  # missing for who may only view
        if isinstance(field, forms.ChoiceField):
            field.choices = choices


@admin.register(ScopeProfile)
class ScopeProfileAdmin(ModelAdmin):  # type: ignore[misc]
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

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField | None:  # type: ignore[type-arg]
        """Only readable collections may be chosen: the names of others are hidden."""
        if db_field.name == "collection":
            kwargs["queryset"] = Collection.objects.visible_to(request.user).order_by("name")
        field: forms.ModelChoiceField | None = super().formfield_for_foreignkey(  # type: ignore[type-arg]
            db_field, request, **kwargs
        )
        return field

    @admin.display(description=_("scope"), ordering="collection__name")
    def label(self, row: ScopeProfile) -> str:
        return row.label

    @admin.display(description=_("kind"))
    def kind(self, row: ScopeProfile) -> str:
        return gettext("Document type") if row.media_type else gettext("Collection")

    @admin.display(description=_("version in force"))
    def in_force(self, row: ScopeProfile) -> str:
        found = getattr(row, "version_in_force", None)
        return f"v{found}" if found else gettext("Not published: the site's is used")
