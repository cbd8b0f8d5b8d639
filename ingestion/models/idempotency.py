"""Keys by which a client repeats an upload without doing it twice."""

from __future__ import annotations

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone


class IdempotencyKey(models.Model):
    """A key that a user sent with a request, and the answer that a repetition gets."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(
        max_length=64, help_text="A hash of the request: the same key with another one is an error."
    )
    status = models.PositiveSmallIntegerField(
        null=True, help_text="Of the answer; none while the request is being processed."
    )
    answer = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    location = models.CharField(max_length=500, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint("user", "key", name="idempotency_key_once"),)

    def __str__(self) -> str:
        return self.key
