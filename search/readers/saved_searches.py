"""A reader's saved searches."""

from __future__ import annotations

from contextlib import suppress

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.metadata import clean
from search.engine import configuration
from search.engine.read import read_query
from search.errors import EmptyQuestion, InvalidFilter, QueryTooLong, SearchError
from search.readers.models import OwnQuerySet, Params, SavedSearch

# A guess: more than a reader can survey.
MOST_SEARCHES = 100


class NotSaved(SearchError):
    """A saved search or a favourite that cannot be saved; the message says why."""

    code = "not_saved"


def searches_of(user: User) -> OwnQuerySet[SavedSearch]:
    """The reader's saved searches by name."""
    return SavedSearch.objects.owned_by(user)


def save(user: User, *, name: str, question: str, params: Params) -> SavedSearch:
    """Save a search; the question is its name by default. Raises NotSaved.

    Without a question its filters alone are saved, under a name.
    """
    if not question and not params:
        raise NotSaved(gettext("Type a question or set a filter first: there is nothing to save."))
    with suppress(EmptyQuestion):  # its filters alone are searched for
        try:
            read_query(question, configuration.current())
        except (InvalidFilter, QueryTooLong) as error:
            raise NotSaved(str(error)) from error
    if not clean(name) and not question:
        raise NotSaved(gettext("Give the search a name: it has no question to be named after."))
    label = clean(name)[:120] or clean(question)[:120]
    try:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=user.pk)  # counted and made one at a time
            if searches_of(user).count() >= MOST_SEARCHES:
                raise NotSaved(
                    gettext("You have %(most)d saved searches. Delete one first.")
                    % {"most": MOST_SEARCHES}
                )
            return SavedSearch.objects.create(
                user=user, name=label, question=question, params=dict(params)
            )
    except IntegrityError as error:
        raise _duplicate_name(label) from error


def rename(search: SavedSearch, name: str) -> None:
    """Give a saved search another name; an empty one leaves it. Raises NotSaved."""
    label = clean(name)[:120] or search.name
    try:
        with transaction.atomic():
            SavedSearch.objects.filter(pk=search.pk).update(name=label)
    except IntegrityError as error:
        raise _duplicate_name(label) from error


def _duplicate_name(name: str) -> NotSaved:
    return NotSaved(
        gettext("You have a saved search named “%(name)s”. Choose another name.") % {"name": name}
    )
