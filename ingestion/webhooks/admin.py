"""Webhooks in the admin: their addresses and events, their deliveries, a test, a new secret."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from common.admin.pages import OwnPages, actor
from ingestion.models import Collection
from ingestion.webhooks import sending
from ingestion.webhooks.models import Delivery, Event, Webhook, new_secret

SHOWN = 50


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]
    events = forms.MultipleChoiceField(
        choices=Event.choices, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    class Meta:
        model = Webhook
        fields = ("name", "url", "events", "collections", "active")


@admin.register(Webhook)
class WebhookAdmin(OwnPages[Webhook], ModelAdmin):  # type: ignore[misc]
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

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "collections":
            kwargs["queryset"] = Collection.objects.visible_to(request.user)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        obj.acts_for = actor(request)
        super().save_model(request, obj, form, change)
        if not change:
            self._show_secret(request, obj)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        webhook = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if webhook is not None:
            context |= {
                "webhook": webhook,
                "deliveries": webhook.deliveries.defer("body")[:SHOWN],
                "may_act": self.has_change_permission(request, webhook),
            }
        return super().change_view(request, object_id, form_url, context)  # type: ignore[no-any-return]

    def get_urls(self) -> list[URLPattern]:
        page = self.own_page
        return [
            page("<int:pk>/test/", require_POST(self.test_view), "test"),
            page("<int:pk>/secret/", require_POST(self.secret_view), "secret"),
            page(
                "<int:pk>/deliveries/<int:delivery>/again/", require_POST(self.again_view), "again"
            ),
            *super().get_urls(),
        ]

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Queue a delivery that says nothing."""
        sending.send_test(self.changeable(request, pk))
        self.message_user(request, gettext("A test is on its way."), messages.SUCCESS)
        return self.back_to(pk)

    def secret_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Replace the secret: the deliveries from now on are signed with the new one."""
        webhook = self.changeable(request, pk)
        webhook.secret = new_secret()
        webhook.save(update_fields=["secret"])
        self.log_change(request, webhook, "New secret")
        self._show_secret(request, webhook)
        return self.back_to(pk)

    def again_view(self, request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
        webhook = self.changeable(request, pk)
        sending.send_again(get_object_or_404(Delivery, pk=delivery, webhook=webhook))
        self.message_user(request, gettext("It is sent again, with the same id."), messages.SUCCESS)
        return self.back_to(pk)

    def _show_secret(self, request: HttpRequest, webhook: Webhook) -> None:
        self.message_user(
            request,
            gettext("The secret of “%(webhook)s”, shown only this once: %(secret)s")
            % {"webhook": webhook, "secret": webhook.secret},
            messages.WARNING,
        )
