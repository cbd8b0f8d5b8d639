"""Saved searches with their feeds, and favourites, each of one reader."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from uuid import UUID

from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.metadata import clean
from ingestion.models import Document
from ingestion.models.library import Viewer
from search.errors import SearchError
from search.readers.models import Favourite, OwnQuerySet, Params, SavedSearch

# Guesses: more than a reader can survey, few enough for a worker to look through.
MOST_SEARCHES = 100
MOST_FAVOURITES = 2_000
_UNSUBSCRIBE = "search.readers.unsubscribe"


class NotSaved(SearchError):
    """A saved search or a favourite that cannot be kept as asked."""

    code = "not_saved"


def of(user: User) -> OwnQuerySet[SavedSearch]:
    """The reader's saved searches by name."""
    return SavedSearch.objects.owned_by(user)


def save(
    user: User, *, name: str, question: str, params: Params, mails: bool = False
) -> SavedSearch:
    """Save a search; the question is its name by default. Raises NotSaved.

    Without a question its filters alone are saved, under a name.
    """
    if not question and not params:
        raise NotSaved(gettext("Type a question or set a filter first: there is nothing to save."))
    if not clean(name) and not question:
        raise NotSaved(gettext("Give the search a name: it has no question to be named after."))
    _check_mail(user, mails=mails)
    named = clean(name)[:120] or clean(question)[:120]
    try:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=user.pk)  # counted and made one at a time
            if of(user).count() >= MOST_SEARCHES:
                raise NotSaved(
                    gettext("You have %(most)d saved searches. Delete one first.")
                    % {"most": MOST_SEARCHES}
                )
            return SavedSearch.objects.create(
                user=user, name=named, question=question, params=dict(params), mails=mails
            )
    except IntegrityError as error:
        raise _name_taken(named) from error


def change(search: SavedSearch, *, name: str, mails: bool) -> None:
    """Rename a saved search, and mail its news or not. Raises NotSaved."""
    _check_mail(search.user, mails=mails and not search.mails)
    named = clean(name)[:120] or search.name
    try:
        with transaction.atomic():
            SavedSearch.objects.filter(pk=search.pk).update(name=named, mails=mails)
    except IntegrityError as error:
        raise _name_taken(named) from error


def renew_feed(search: SavedSearch) -> str:
    """Give the feed a new secret address, which ends the old one; return the secret."""
    key = secrets.token_urlsafe(32)
    SavedSearch.objects.filter(pk=search.pk).update(feed_key=key)
    return key


def end_feed(search: SavedSearch) -> None:
    """End the feed: its address no longer works."""
    SavedSearch.objects.filter(pk=search.pk).update(feed_key="")


def of_feed(public_id: UUID, key: str) -> SavedSearch | None:
    """The saved search whose feed has this secret; None unless it is right and its owner active."""
    rows = SavedSearch.objects.select_related("user").filter(
        public_id=public_id, user__is_active=True
    )
    search = rows.first()
    if search is None or not search.feed_key or not constant_time_compare(search.feed_key, key):
        return None
    return search


def unsubscribe_token(user: User) -> str:
    """A token that ends the reader's mails, and nothing else; it does not expire."""
    return signing.dumps(user.pk, salt=_UNSUBSCRIBE)


def unsubscribe(token: str, *, dry: bool = False) -> bool:
    """End all mails of the token's reader; return whether the token is right. `dry`: only check."""
    try:
        pk = signing.loads(token, salt=_UNSUBSCRIBE)
    except signing.BadSignature:
        return False
    if not dry:
        SavedSearch.objects.filter(user=pk).update(mails=False)
    return True


def favourites_of(user: User) -> QuerySet[Document]:
    """The reader's favourites that they may still read, by title."""
    starred = Favourite.objects.owned_by(user).filter(
        document__in=Document.objects.visible_to(user).values("pk")
    )
    rows = Document.objects.filter(pk__in=starred.values("document"))
    return rows.select_related("collection").defer("title_terms").order_by("title", "pk")


def is_favourite(user: User, document: Document) -> bool:
    """Whether the reader has starred the document."""
    return Favourite.objects.owned_by(user).filter(document=document).exists()


def starred_among(user: Viewer, documents: Iterable[str]) -> frozenset[str]:
    """Of these public ids those of the viewer's favourites; one query, none for visitors."""
    if user is None or not user.is_authenticated:
        return frozenset()
    starred = Favourite.objects.owned_by(user).filter(document__public_id__in=list(documents))
    return frozenset(map(str, starred.values_list("document__public_id", flat=True)))


def star(user: User, document: Document, *, on: bool) -> None:
    """Add a readable document to the reader's favourites, or take it off. Raises NotSaved."""
    if not on:
        Favourite.objects.owned_by(user).filter(document=document).delete()
        return
    if Favourite.objects.owned_by(user).count() >= MOST_FAVOURITES:
        raise NotSaved(
            gettext("You have %(most)d favourites. Take one off first.") % {"most": MOST_FAVOURITES}
        )
    Favourite.objects.get_or_create(user=user, document=document)


def _check_mail(user: User, *, mails: bool) -> None:
    if mails and not user.email:
        raise NotSaved(
            gettext(
                "Your account has no e-mail address. Ask an administrator to add one, or use the "
                "feed."
            )
        )


def _name_taken(name: str) -> NotSaved:
    return NotSaved(
        gettext("You have a saved search named “%(name)s”. Choose another name.") % {"name": name}
    )
