"""Search events with their interactions, and search gaps: failed questions of one meaning."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField

from common.accounts.models import user_or_none
from ingestion.models.collections import Collection
from ingestion.models.visibility import Viewer
from search.models.profiles import SearchProfile
from search.models.rules import QUERY_CLASSES
from search.query import MAX_QUERY_CHARS

# In `SearchEvent.teams`: a result that both interleaved rankings contributed.
NO_TEAM = "-"


def readable_sources(viewer: Viewer) -> Q:
    """A filter for rows all of whose `sources` and `collections` the viewer may read.

    The name of an unknown collection hides a row like that of a hidden collection.
    """
    if viewer is not None and viewer.is_active and viewer.is_superuser:
        return Q()
    readable = Collection.objects.visible_to(viewer).with_narrower(viewer).order_by()
    rows = list(readable.values_list("pk", "slug", "name"))
    names = {text.casefold() for _, slug, name in rows for text in (slug, name)}
    return Q(
        sources__contained_by=[pk for pk, _, _ in rows], collections__contained_by=sorted(names)
    )


class SearchEventQuerySet(models.QuerySet["SearchEvent"]):
    def visible_to(self, viewer: Viewer) -> SearchEventQuerySet:
        """The events whose query `viewer` may read: those of which they may read every source."""
        return self.filter(readable_sources(viewer))

    def searches(self) -> SearchEventQuerySet:
        """One event per search: without further pages and repeats."""
        return self.filter(page=1, follows=None)


class SearchEvent(models.Model):
    """A search with its results. Documents are stored by public id, without their text.

    `visitor` is a keyed hash of the user, or of the day, address and browser of someone who is not
    signed in. `results` are the public ids of the documents on the page, in order; the rank of the
    first is `first_rank`. `sources` are the ids of the collections whose text was displayed,
    `collections` the requested names: whoever may not read one of them may not read the query.
    `follows` is the visitor's search that this one repeats or continues on another page.
    `best_click` is the best rank that was opened.
    """

    class Channel(models.TextChoices):
        PAGE = "page", _("Search page")
        API = "api", _("API")
        MCP = "mcp", _("Agent (MCP)")

    search_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    channel = models.CharField(max_length=4, choices=Channel.choices)
    query = models.CharField(max_length=MAX_QUERY_CHARS)
    # Short enough to be indexed in any script.
    folded = models.CharField(max_length=500, db_index=True)
    # No database constraint: recording must not take a lock that a search could wait for.
    user = user_or_none(db_constraint=False)
    visitor = models.CharField(max_length=64, blank=True)
    query_class = models.CharField(max_length=12, choices=QUERY_CLASSES)
    rule = models.CharField(max_length=120, blank=True)
    profile = models.ForeignKey(
        SearchProfile, models.SET_NULL, null=True, blank=True, related_name="+", db_constraint=False
    )
    profile_name = models.CharField(max_length=80)
    collections = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    sources = ArrayField(models.BigIntegerField(), default=list, blank=True)
    page = models.PositiveIntegerField(default=1)
    follows = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, blank=True,
        related_name="continuations", db_constraint=False,
    )  # fmt: skip
    total = models.PositiveIntegerField()
    results = ArrayField(models.UUIDField(), default=list, blank=True)
    first_rank = models.PositiveIntegerField(default=1)
    best_click = models.PositiveIntegerField(null=True, blank=True)
    milliseconds = models.FloatField()
    confidence = models.FloatField(null=True, blank=True)
    unsure = models.BooleanField(default=False, help_text=_("Below the profile's threshold."))
    corrected_from = models.CharField(max_length=MAX_QUERY_CHARS, blank=True)
    degraded = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    anonymised = models.BooleanField(default=False)
    gathered = models.BooleanField(default=False, help_text=_("Processed for search gaps."))
    # The experiment that it takes part in; none outside experiments.
    experiment = models.PositiveBigIntegerField(null=True, blank=True, db_index=True)
    # The team of each interleaved result, one letter per result; "-": in both rankings alike.
    teams = models.CharField(max_length=100, blank=True)

    objects = SearchEventQuerySet.as_manager()

    class Meta:
        ordering = ("-at", "-pk")
        verbose_name = _("search")
        verbose_name_plural = _("searches")
        indexes = (
            models.Index(fields=("visitor", "at"), name="event_of_visitor"),
            models.Index(fields=("id",), condition=Q(gathered=False), name="event_to_gather"),
        )

    def __str__(self) -> str:
        return self.query


class Interaction(models.Model):
    """A searcher's interaction with a result, or an answer about the whole search.

    `event` is the first page's event, even for interactions on a later page. `document` and `rank`
    are empty for an answer about the whole search.
    """

    class Kind(models.TextChoices):
        CLICK = "click", _("Opened")
        DWELL = "dwell", _("Read")
        UP = "up", _("Thumb up")
        DOWN = "down", _("Thumb down")
        SOLVED = "solved", _("Question answered")
        UNSOLVED = "unsolved", _("Question not answered")

    event = models.ForeignKey(SearchEvent, models.CASCADE, related_name="interactions")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    document = models.UUIDField(null=True, blank=True, help_text=_("The document's public id."))
    rank = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("Rank among the results, from 1.")
    )
    seconds = models.FloatField(null=True, blank=True, help_text=_("Reading time in seconds."))
    team = models.CharField(
        max_length=1, blank=True, help_text=_("Interleaving team of the result.")
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("at", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("event", "kind", "document"),
                name="interaction_once_per_result",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(document=None, rank=None, kind__in=("solved", "unsolved"))
                | (~Q(document=None) & ~Q(rank=None) & ~Q(kind__in=("solved", "unsolved"))),
                name="interaction_names_a_result_or_all",
            ),
        )

    def __str__(self) -> str:
        return self.kind if self.rank is None else f"{self.kind} at {self.rank}"


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


class GapWording(models.Model):
    """One wording of a gap's question. `vector` is its embedding in the space `space`."""

    gap = models.ForeignKey(Gap, models.CASCADE, related_name="wordings")
    query = models.CharField(max_length=1000)
    folded = models.CharField(max_length=500, unique=True)
    vector = VectorField(null=True)
    space = models.CharField(max_length=200, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

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
                *("wording", "kind", "visitor", "sources", "collections"),
                name="gap_sign_once_per_visitor",
            ),
        )

    def __str__(self) -> str:
        return f"{self.wording}: {self.get_kind_display()}"


class GapStep(models.Model):
    """A step in a gap's history."""

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

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.gap}: {self.get_kind_display()}"
