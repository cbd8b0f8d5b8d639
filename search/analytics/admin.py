"""The recorded searches in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.mixins import ReadOnly, VisibleOnly
from search.analytics import gap_admin  # noqa: F401 -- registers the gaps
from search.analytics.models import Interaction, SearchEvent


@admin.register(SearchEvent)
class SearchEventAdmin(VisibleOnly, ReadOnly, ModelAdmin):  # type: ignore[misc]
    """The searches without their searchers: the list never names a user."""

    empty_text = _("No searches yet, or recording is disabled (SEARCH_EVENTS).")
    list_display = (
        "at", "question", "outcome", "total", "certainty", "took", "opened", "thumbs", "channel",
    )  # fmt: skip
    list_display_links = None
    list_filter = ("channel", "unsure", "query_class", "profile_name")
    search_fields = ("query", "corrected_from")
    date_hierarchy = "at"
    list_per_page = 50
    show_full_result_count = False
    list_before_template = "admin/steelyard/events_note.html"

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list, whose total is counted only without filters."""
        searches = super().get_changelist_instance(request)
        if not searches.query and not searches.get_filters_params():
            # Without the total, Django's heading would offer "Show all".
            searches.full_result_count = searches.result_count
        return searches

    def get_queryset(self, request: HttpRequest) -> QuerySet[SearchEvent]:
        queryset: QuerySet[SearchEvent] = super().get_queryset(request)
        kinds = Interaction.Kind
        return queryset.filter(page=1, follows=None).annotate(
            ups=Count("interactions", Q(interactions__kind__in=(kinds.UP, kinds.SOLVED))),
            downs=Count("interactions", Q(interactions__kind__in=(kinds.DOWN, kinds.UNSOLVED))),
        )

    @admin.display(description=_("question"), ordering="folded")
    def question(self, event: SearchEvent) -> SafeString | str:
        """The question as typed, its beginning if it is long; what it was corrected to."""
        if not event.query:
            return gettext("(removed)")
        typed, searched = (event.corrected_from or event.query), Truncator(event.query).chars(160)
        note = gettext("corrected to “%s”") % searched if event.corrected_from else ""
        address = f"{reverse('search:page')}?{urlencode({'q': typed})}"
        link = '<a class="text-link" href="{}">{}</a> {}'
        return format_html(link, address, Truncator(typed).chars(160), note)

    @display(
        description=_("outcome"), label={"zero": "danger", "unsure": "warning", "found": "success"}
    )
    def outcome(self, event: SearchEvent) -> tuple[str, str]:
        if not event.total:
            return "zero", gettext("No results")
        if event.unsure:
            return "unsure", gettext("Low confidence")
        return "found", gettext("Results")

    @admin.display(description=_("confidence"), ordering="confidence")
    def certainty(self, event: SearchEvent) -> str:
        return "-" if event.confidence is None else f"{event.confidence:.2f}"

    @admin.display(description=_("time (ms)"), ordering="milliseconds")
    def took(self, event: SearchEvent) -> str:
        return f"{event.milliseconds:.0f}"

    @admin.display(description=_("opened"), ordering="best_click")
    def opened(self, event: SearchEvent) -> str:
        return gettext("rank %(rank)d") % {"rank": event.best_click} if event.best_click else "-"

    @admin.display(description=_("thumbs"))
    def thumbs(self, event: Any) -> str:
        return f"+{event.ups} −{event.downs}" if event.ups or event.downs else "-"
