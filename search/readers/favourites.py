"""A reader's favourites."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.readers.models import Favourite
from search.readers.saved_searches import NotSaved

MOST_FAVOURITES = 2_000


def favourites_of(user: User) -> QuerySet[Document]:
    """The reader's favourites that they may still read, by title."""
    starred = Favourite.objects.owned_by(user).values("document")
    rows = Document.objects.visible_to(user).filter(pk__in=starred)
    return rows.select_related("collection").defer("title_terms").order_by("title", "pk")


def is_favourite(user: User, document: Document) -> bool:
    """Whether the reader has starred the document."""
    return Favourite.objects.owned_by(user).filter(document=document).exists()


def starred_among(user: Viewer, documents: Iterable[str]) -> frozenset[str]:
    """The public ids of the viewer's favourites among `documents`; one query, none for visitors."""
    if user is None or not user.is_authenticated:
        return frozenset()
    starred = Favourite.objects.owned_by(user).filter(document__public_id__in=list(documents))
    return frozenset(map(str, starred.values_list("document__public_id", flat=True)))


def star(user: User, document: Document, *, on: bool) -> None:
    """Add a readable document to the reader's favourites, or remove it. Raises NotSaved."""
    if not on:
        Favourite.objects.owned_by(user).filter(document=document).delete()
        return
    if Favourite.objects.owned_by(user).count() >= MOST_FAVOURITES:
        raise NotSaved(
            gettext("You have %(most)d favourites. Remove one first.") % {"most": MOST_FAVOURITES}
        )
    Favourite.objects.get_or_create(user=user, document=document)
