"""Search gaps: failed questions of one meaning, the affected visitors, and the remedies."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField

from common.accounts.models import user_or_none
from ingestion.models.library import Viewer
from search.analytics.models.events import readable_sources


class Sign(models.TextChoices):
    """A sign that a search failed."""

    ZERO = "zero", _("Nothing found")
    DOWN = "down", _("Thumb down")
    REFORMULATED = "reformulated", _("Asked again in other words")
    UNSURE = "unsure", _("Low confidence")
    NO_CLICK = "no_click", _("Nothing opened")
    ANSWER = "answer", _("Answer not helpful")


class GapQuerySet(models.QuerySet["Gap"]):
    def visible_to(self, viewer: Viewer) -> GapQuerySet:
        """The gaps with at least one wording that `viewer` may read."""
        signs = GapSign.objects.visible_to(viewer)
        return self.filter(pk__in=signs.order_by().values("wording__gap"))


class Gap(models.Model):
    """A question, in all its wordings, that search did not answer well."""

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        CLOSED = "closed", _("Closed")
        DISMISSED = "dismissed", _("Dismissed")

    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    owner = user_or_none(help_text=_("The person who will write the missing document."))
    note = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = GapQuerySet.as_manager()

    class Meta:
        ordering = ("-created", "-pk")
        verbose_name = _("search gap")
        indexes = (models.Index(fields=("state",), name="gap_state"),)

    def __str__(self) -> str:
        return f"search gap {self.pk}"


class GapWordingQuerySet(models.QuerySet["GapWording"]):
    def visible_to(self, viewer: Viewer) -> GapWordingQuerySet:
        """The wordings with at least one search whose query `viewer` may read."""
        signs = GapSign.objects.visible_to(viewer)
        return self.filter(pk__in=signs.order_by().values("wording"))


class GapWording(models.Model):
    """One wording of a gap's question. `vector` is its embedding in the space `space`."""

    gap = models.ForeignKey(Gap, models.CASCADE, related_name="wordings")
    query = models.CharField(max_length=1000)
    folded = models.CharField(max_length=500, unique=True)
    vector = VectorField(null=True)
    space = models.CharField(max_length=200, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

    objects = GapWordingQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.query


class GapSignQuerySet(models.QuerySet["GapSign"]):
    def visible_to(self, viewer: Viewer) -> GapSignQuerySet:
        """The signs of searches whose query `viewer` may read (see `SearchEvent.sources`)."""
        return self.filter(readable_sources(viewer))


class GapSign(models.Model):
    """One kind of failure of one wording for one visitor; repeated searches add no row."""

    wording = models.ForeignKey(GapWording, models.CASCADE, related_name="signs")
    kind = models.CharField(max_length=12, choices=Sign.choices)
    visitor = models.CharField(max_length=64)
    sources = ArrayField(models.BigIntegerField(), default=list, blank=True)
    # Names of the collections that were searched; empty: all.
    collections = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    first = models.DateTimeField()
    last = models.DateTimeField(db_index=True)
    anonymised = models.BooleanField(default=False)

    objects = GapSignQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                "wording",
                "kind",
                "visitor",
                "sources",
                "collections",
                name="gap_sign_once_per_visitor",
            ),
        )

    def __str__(self) -> str:
        return f"{self.wording}: {self.get_kind_display()}"


class GapStep(models.Model):
    """A step in a gap's history, with the search results before and after.

    `before` and `after` hold `total`, `confidence`, `unsure`, `profile` and `results`, the public
    ids of the first ten documents that `user` was shown.
    """

    class Kind(models.TextChoices):
        SYNONYM = "synonym", _("Synonym")
        PATTERN = "pattern", _("Identifier pattern")
        PIN = "pin", _("Pin")
        JUDGEMENT = "judgement", _("Judgement")
        DOCUMENT = "document", _("Needs a document")
        DISMISSED = "dismissed", _("Dismissed")
        CLOSED = "closed", _("Closed")
        REOPENED = "reopened", _("Reopened")

    gap = models.ForeignKey(Gap, models.CASCADE, related_name="steps")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    user = user_or_none()
    at = models.DateTimeField(default=timezone.now, editable=False)
    note = models.TextField(blank=True)
    query = models.CharField(
        max_length=1000, blank=True, help_text=_("The wording that was searched.")
    )
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.gap}: {self.get_kind_display()}"
