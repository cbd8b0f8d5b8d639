"""What belongs to one reader. Each row goes with its user; none is in the admin."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.query import MAX_QUERY_CHARS

Row = TypeVar("Row", bound=models.Model)
# The filters of a search by their names in its address, such as {"type": ["application/pdf"]}.
Params = Mapping[str, Sequence[str]]


class OwnQuerySet(models.QuerySet[Row]):
    def owned_by(self, viewer: Viewer) -> OwnQuerySet[Row]:
        """The viewer's own rows; there is no access to other users' rows."""
        if viewer is None or not viewer.is_authenticated or not viewer.is_active:
            return self.none()
        return self.filter(user=viewer.pk)


def search_address(question: str, params: Params) -> str:
    """The address of the search page for a question with filters, or of the library without one."""
    if not question:
        return f"{reverse('search:library')}?{urlencode(dict(params), doseq=True)}"
    return f"{reverse('search:page')}?{urlencode({'q': question, **params}, doseq=True)}"


class ReaderSettings(models.Model):
    """A reader's settings. Without a row, the defaults."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    keeps_history = models.BooleanField(default=True)

    objects = OwnQuerySet["ReaderSettings"].as_manager()

    def __str__(self) -> str:
        return f"settings of user {self.user_id}"


class HistoryEntry(models.Model):
    """A search of a reader; the same question with the same filters is one entry.

    `key` is a hash of both, short enough for an index.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=64)
    question = models.CharField(max_length=MAX_QUERY_CHARS)
    params = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = OwnQuerySet["HistoryEntry"].as_manager()

    class Meta:
        ordering = ("-at", "-pk")
        constraints = (models.UniqueConstraint("user", "key", name="history_search_once"),)
        indexes = (models.Index(fields=("user", "-at"), name="history_of_user"),)

    def __str__(self) -> str:
        return self.question[:80]

    def get_absolute_url(self) -> str:
        return search_address(self.question, self.params)


class Favourite(models.Model):
    """A document that a reader has starred."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    objects = OwnQuerySet["Favourite"].as_manager()

    class Meta:
        ordering = ("-at", "-pk")
        constraints = (models.UniqueConstraint("user", "document", name="favourite_once"),)

    def __str__(self) -> str:
        return str(self.document_id)


class SavedSearch(models.Model):
    """A question with its filters, or filters alone, saved under a name."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.CharField(max_length=120)
    question = models.CharField(max_length=MAX_QUERY_CHARS)
    params = models.JSONField(default=dict)
    created = models.DateTimeField(default=timezone.now, editable=False)

    objects = OwnQuerySet["SavedSearch"].as_manager()

    class Meta:
        ordering = ("name", "pk")
        constraints = (models.UniqueConstraint("user", "name", name="saved_search_name_once"),)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return search_address(self.question, self.params)
