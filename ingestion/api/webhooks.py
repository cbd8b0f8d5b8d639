"""Webhooks over HTTP: a program registers its own, under the rules of the admin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import transaction
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.requests import actor
from common.api.serializers import CleanSerializer
from common.api.viewsets import EditableViewSet
from ingestion.api.serializers import CollectionField
from ingestion.events import log
from ingestion.models import Collection
from ingestion.webhooks.models import Webhook


class WebhookSerializer(CleanSerializer[Webhook]):
    """An address that receives events of what you may read, who changed it last.

    `collections` are slugs, of those that you may read; none: all. `secret` is shown once.
    """

    collections = CollectionField(many=True, required=False)
    secret = serializers.SerializerMethodField(help_text="In the response to its creation.")

    class Meta:
        model = Webhook
        fields = (
            "id", "name", "url", "events", "collections", "active", "secret", "created", "warnings",
        )  # fmt: skip
        read_only_fields = ("created",)

    @extend_schema_field({"type": "string", "nullable": True})
    def get_secret(self, webhook: Webhook) -> str | None:
        return webhook.secret if self.context["view"].action == "create" else None

    def to_representation(self, instance: Webhook) -> Any:
        data = super().to_representation(instance)
        readable = Collection.objects.visible_to(self.context["request"].user)
        chosen = readable.filter(pk__in=instance.collections.all()).order_by("slug")
        return {**data, "collections": [each.slug for each in chosen]}


class WebhookViewSet(EditableViewSet[Webhook]):
    """Webhooks. Whoever changes one, it acts for from then on."""

    serializer_class = WebhookSerializer
    is_repeatable = False  # the response would keep the secret
    queryset = Webhook.objects.all()

    def save(self, form: Any) -> Iterable[str]:
        webhook, user = form.row, actor(self.request)
        is_new, chosen = webhook.pk is None, form.validated_data.get("collections")
        webhook.acts_for = user
        with transaction.atomic():
            webhook.save()
            if chosen is not None:
                webhook.collections.set(chosen)
            log(user, webhook, ADDITION if is_new else CHANGE, "By the API")
        return ()

    def remove(self, row: Webhook) -> None:
        with transaction.atomic():
            log(actor(self.request), row, DELETION, "By the API")
            row.delete()
