"""The audit trail in the admin: read and exported, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.credentials import RemovedBySuperusers
from common.admin.mixins import OwnPages, own_page
from common.audit.models import Event, Kind
from common.audit.trail import lines, record

# The details of events that have more to say than their name and value.
DETAILS = {
    "changed": _("%s changed"), "add": _("added: %s"), "added": _("%s added"),
    "remove": _("removed: %s"), "removed": _("%s removed"), "token_made": _("token “%s” made"),
    "documents": _("%s documents"), "what": "%s", "at": _("on %s"),
    "is_active": _("active: %s"), "is_staff": _("staff: %s"), "is_superuser": _("superuser: %s"),
}  # fmt: skip


def in_words(details: Mapping[str, Any]) -> str:
    """The details of an event as a phrase: "Password changed from the command line"."""

    def value(fact: Any) -> str:
        if isinstance(fact, bool):
            return gettext("yes") if fact else gettext("no")
        return ", ".join(map(str, fact)) if isinstance(fact, list) else str(fact)

    phrases = [
        gettext("account added")
        if (name, fact) == ("added", True)
        else str(DETAILS.get(name, f"{name}: %s")) % value(fact)
        for name, fact in details.items()
        if name != "by"
    ]
    place = gettext("from the command line") if "by" in details else ""
    return capfirst(f"{'; '.join(phrases)} {place}".strip())


@admin.register(Event)
class EventAdmin(OwnPages[Event], RemovedBySuperusers, ModelAdmin):  # type: ignore[misc]
    """The audit trail, for superusers: read and exported, never changed."""

    empty_text = "Nothing was noted yet."
    counted_as = ("event", "events")
    list_display = ("at", "kind", "username", "subject", "address", "excerpt")
    list_filter = ("kind",)
    search_fields = ("username", "subject", "address")
    date_hierarchy = "at"
    show_full_result_count = False
    list_before_template = "admin/audit/export.html"

    @admin.display(description="details")
    def excerpt(self, event: Event) -> str:
        return Truncator(in_words(event.details) or "-").chars(160)  # the export has the whole text

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @own_page("export/")
    def export_view(self, request: HttpRequest) -> StreamingHttpResponse:
        """The whole trail as JSON lines, with the changes of the admin's log."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        record(Kind.EXPORTED, subject="audit trail", request=request)
        name = f'filename="steelyard-audit-{timezone.localdate()}.jsonl"'
        headers = {"Content-Disposition": f"attachment; {name}"}
        return StreamingHttpResponse(lines(), content_type="application/x-ndjson", headers=headers)
