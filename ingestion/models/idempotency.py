"""Idempotency keys of the API: a repeated request gets the response of the first."""

from __future__ import annotations

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class IdempotencyKey(models.Model):
    """An idempotency key of a user's request, and the response to repeat."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(
        max_length=64,
        help_text=_("A hash of the request: reusing the key for another request is an error."),
    )
    status = models.PositiveSmallIntegerField(
        null=True,
        help_text=_("HTTP status of the response; empty while the request is being processed."),
    )
    answer = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    location = models.CharField(max_length=500, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint("user", "key", name="idempotency_key_once"),)

    def __str__(self) -> str:
        return self.key
