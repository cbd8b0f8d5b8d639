"""Webhooks, and the deliveries to each."""

from __future__ import annotations

import base64
import secrets
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import DEFAULT, Job
from ingestion import events
from ingestion.errors import AddressRefused
from ingestion.intake.url_guard import MAX_URL_CHARS, Guard, read_rules, read_target
from ingestion.models import Collection

SECRET_PREFIX = "whsec_"  # noqa: S105 -- as in the Standard Webhooks specification


class Event(models.TextChoices):
    """An event that a webhook can subscribe to."""

    READY = events.DOCUMENT_READY, _("A document is ready: search finds it, or its new version")
    FAILED = events.DOCUMENT_FAILED, _("The processing of a document failed")
    DELETED = events.DOCUMENT_DELETED, _("A document was deleted")
    COLLECTION_DELETED = events.COLLECTION_DELETED, _("A collection was deleted")
    COLLECTION_RESTORED = events.COLLECTION_RESTORED, _("A collection was restored")
    QUALITY_FELL = "search.quality_fell", _("The measures of the golden queries fell")


# Sent by hand only.
TEST = "webhook.test"


def new_secret() -> str:
    """A random key of 32 bytes in the form of the specification."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def guard() -> Guard:
    """The addresses that deliveries may go to."""
    return Guard(allow=read_rules(settings.WEBHOOK_ALLOW), allow_setting="WEBHOOK_ALLOW")


class Webhook(Job):
    """An address that receives events. Its job is to send the due deliveries, in their order.

    `acts_for` is the user who last changed it: it receives events of collections they may read.
    """

    TASK = "ingestion.tasks.deliver_webhook"
    QUEUES = {DEFAULT: Q()}

    name = models.CharField(max_length=120, unique=True)
    url = models.CharField(
        _("address"),
        max_length=MAX_URL_CHARS,
        help_text=_(
            "Receives a POST for each event. Internal addresses are refused, unless they are "
            "listed in the setting WEBHOOK_ALLOW."
        ),
    )
    secret = models.CharField(max_length=100, default=new_secret, editable=False)
    events = ArrayField(models.CharField(max_length=40, choices=Event.choices))
    collections = models.ManyToManyField(
        Collection, blank=True, related_name="+", help_text=_("None chosen: all that you may read.")
    )
    active = models.BooleanField(default=True)
    acts_for = user_or_none(editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        try:
            target = read_target(self.url)
            guard().check(target)
        except AddressRefused as error:
            raise ValidationError({"url": str(error)}) from error
        self.url = target.url

    @classmethod
    def open_jobs(cls) -> models.QuerySet[Webhook]:
        """The active webhooks with a delivery that is due."""
        due = Delivery.objects.due().filter(webhook=OuterRef("pk"))
        return cls.objects.filter(Exists(due), active=True)


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def due(self) -> DeliveryQuerySet:
        """The deliveries that are to be sent now."""
        when = Q(not_before=None) | Q(not_before__lte=timezone.now())
        return self.filter(when, state=Delivery.State.QUEUED)


def new_message_id() -> str:
    return f"msg_{uuid4().hex}"


class Delivery(models.Model):
    """One event for one webhook. All its attempts have the same id and the same body."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Failed")

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    message_id = models.CharField(max_length=40, unique=True, default=new_message_id)
    event = models.CharField(max_length=40)
    body = models.TextField(help_text=_("JSON, as it is signed and sent."))
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(null=True, help_text=_("Earliest next attempt."))
    status = models.PositiveSmallIntegerField(
        _("response"), null=True, help_text=_("The status of the last response.")
    )
    error = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now)
    finished = models.DateTimeField(null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "deliveries"
        indexes = (
            models.Index(
                fields=("webhook", "not_before"), name="delivery_due", condition=Q(state="queued")
            ),
        )

    def __str__(self) -> str:
        return f"{self.event} ({self.message_id})"
