"""Webhooks in the admin: their addresses and events, their deliveries, a test, a new secret."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from common.admin.mixins import PanelPages, ViewersForm, actor, own_page
from ingestion.webhooks import sending
from ingestion.webhooks.models import Delivery, Event, Webhook, new_secret

MAX_DELIVERIES = 50


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]
    events = forms.MultipleChoiceField(
        choices=Event.choices, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    class Meta:
        model = Webhook
        fields = ("name", "url", "events", "collections", "active")


@admin.register(Webhook)
class WebhookAdmin(ViewersForm, PanelPages[Webhook], ModelAdmin):  # type: ignore[misc]
    empty_text = _("No webhooks yet. A webhook tells another program what happens in the library.")
    form = WebhookForm
    fields = WebhookForm.Meta.fields
    list_display = ("name", "url", "active", "waiting", "acts_for")
    list_select_related = ("acts_for",)
    search_fields = ("name", "url")
    change_form_outer_after_template = "admin/webhooks/webhook/deliveries.html"

    def get_queryset(self, request: HttpRequest) -> Any:
        queued = Delivery.State.QUEUED
        waiting = Count("deliveries", filter=Q(deliveries__state=queued))
        return super().get_queryset(request).annotate(waiting_count=waiting)

    @admin.display(description=_("waiting deliveries"), ordering="waiting_count")
    def waiting(self, webhook: Any) -> int:
        return int(webhook.waiting_count)

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        obj.acts_for = actor(request)
        super().save_model(request, obj, form, change)
        if not change:
            self._show_secret(request, obj)

    def panel(self, request: HttpRequest, row: Webhook) -> dict[str, Any]:
        return {
            "webhook": row,
            "deliveries": row.deliveries.defer("body")[:MAX_DELIVERIES],
            "may_act": self.has_change_permission(request, row),
        }

    @own_page("<int:pk>/test/", posts=True)
    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Queue a test delivery."""
        sending.send_test(self.changeable(request, pk))
        self.message_user(request, gettext("A test delivery is being sent."), messages.SUCCESS)
        return self.back_to(pk)

    @own_page("<int:pk>/secret/", posts=True)
    def secret_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Replace the secret: the deliveries from now on are signed with the new one."""
        webhook = self.changeable(request, pk)
        webhook.secret = new_secret()
        webhook.save(update_fields=["secret"])
        self.log_change(request, webhook, "New secret")
        self._show_secret(request, webhook)
        return self.back_to(pk)

    @own_page("<int:pk>/deliveries/<int:delivery>/again/", posts=True)
    def again_view(self, request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
        webhook = self.changeable(request, pk)
        sending.send_again(get_object_or_404(Delivery, pk=delivery, webhook=webhook))
        self.message_user(request, gettext("It is being resent, with its id."), messages.SUCCESS)
        return self.back_to(pk)

    def _show_secret(self, request: HttpRequest, webhook: Webhook) -> None:
        self.message_user(
            request,
            gettext("The secret of “%(webhook)s”, shown only this once: %(secret)s")
            % {"webhook": webhook, "secret": webhook.secret},
            messages.WARNING,
        )
