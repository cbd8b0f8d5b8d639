"""W5: what searchers do: a row a search, a row a click, dwell or thumb."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from search.models.labels import QUERY_CLASSES
from search.models.profiles import SearchProfile


class SearchEvent(models.Model):
    """One search as it was answered. Documents stand by public id: no text of theirs is kept.

    `visitor` is a keyed hash of the session or token, another one each day once anonymised;
    `results` are the public ids of the first page's documents, in order.
    """

    class Channel(models.TextChoices):
        PAGE = "page", "Search page"
        API = "api", "API"

    search_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    channel = models.CharField(max_length=4, choices=Channel.choices)
    query = models.CharField(max_length=1000)
    folded = models.CharField(max_length=1000, db_index=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    visitor = models.CharField(max_length=64, blank=True, db_index=True)
    query_class = models.CharField(max_length=12, choices=QUERY_CLASSES)
    rule = models.CharField(max_length=120, blank=True)
    profile = models.ForeignKey(
        SearchProfile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    profile_name = models.CharField(max_length=80)
    collections = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    page = models.PositiveIntegerField(default=1)
    total = models.PositiveIntegerField()
    results = ArrayField(models.UUIDField(), default=list, blank=True)
    milliseconds = models.FloatField()
    confidence = models.FloatField(null=True, blank=True)
    unsure = models.BooleanField(default=False, help_text="Below the profile's threshold.")
    corrected_from = models.CharField(max_length=1000, blank=True)
    degraded = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    anonymised = models.BooleanField(default=False)
    # Which arm of an experiment answered, by name; empty outside experiments.
    experiment = models.PositiveBigIntegerField(null=True, blank=True, db_index=True)
    arm = models.CharField(max_length=12, blank=True)

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return self.query


class Interaction(models.Model):
    """What a searcher did with a result of a search."""

    class Kind(models.TextChoices):
        CLICK = "click", "Opened"
        DWELL = "dwell", "Read"
        UP = "up", "Thumb up"
        DOWN = "down", "Thumb down"

    event = models.ForeignKey(SearchEvent, models.CASCADE, related_name="interactions")
    kind = models.CharField(max_length=6, choices=Kind.choices)
    document = models.UUIDField(help_text="The document's public id.")
    rank = models.PositiveIntegerField(help_text="Its place among the results, from 1.")
    seconds = models.FloatField(null=True, blank=True, help_text="How long it was read.")
    team = models.CharField(max_length=1, blank=True, help_text="Whose result, in interleaving.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("at", "pk")
        constraints = (
            models.UniqueConstraint(
                "event", "kind", "document", name="interaction_once_per_result"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} at {self.rank}"
