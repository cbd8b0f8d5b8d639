"""The audit of profiles in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.mixins import ReadOnly
from search.tuning.models import ProfileChange


@admin.register(ProfileChange)
class ProfileChangeAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    list_display = ("at", "profile_link", "action_label", "user", "reason", "what", "gate_lines")
    list_display_links = None
    list_select_related = ("profile", "user")
    list_filter = ("action", ("profile__name", admin.AllValuesFieldListFilter))
    search_fields = ("profile__name", "reason")
    list_per_page = 50

    @admin.display(description=_("profile"), ordering="profile__name")
    def profile_link(self, change: ProfileChange) -> SafeString:
        url = reverse("admin:search_searchprofile_change", args=(change.profile_id,))
        return format_html('<a class="text-link" href="{}">{}</a>', url, change.profile)

    @display(
        description=_("action"),
        ordering="action",
        label={
            "created": "",
            "edited": "info",
            "published": "success",
            "refused": "danger",
            "overridden": "warning",
            "rolled_back": "success",
            "targets": "info",
            "exp_started": "info",
            "exp_refused": "danger",
            "exp_ended": "info",
        },
    )
    def action_label(self, change: ProfileChange) -> tuple[str, str]:
        return change.action, change.get_action_display()

    @admin.display(description=_("what changed"))
    def what(self, change: ProfileChange) -> SafeString:
        return format_html(
            '<ul class="sy-differences">{}</ul>',
            format_html_join("", "<li>{}</li>", ((line,) for line in change.differences)),
        )

    @admin.display(description=_("gate findings"))
    def gate_lines(self, change: ProfileChange) -> SafeString:
        lines = format_html_join("", "<li>{}</li>", ((line,) for line in change.findings))
        run = SafeString("")
        if change.run_id:
            url = reverse("admin:tuning_evaluationrun_change", args=(change.run_id,))
            run = format_html(
                '<li><a class="text-link" href="{}">{}</a></li>', url, gettext("Measurement")
            )
        return format_html('<ul class="sy-differences">{}{}</ul>', lines, run)
