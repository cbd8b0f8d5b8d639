"""Suggestions while typing: a reader's own searches, titles, headings and identifiers.

Of what searches of the reader may find, by the same scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from rest_framework.throttling import UserRateThrottle

from common.accounts.models import User
from common.api.access import UserThrottle
from ingestion.models.collection_access import Viewer
from search.engine.configuration import current
from search.query.parse import clean_text
from search.query.synonyms_and_pins import hidden_from
from search.readers.history_and_saved import history_of, keeps_history
from search.retrieval import Filters, Scope
from search.retrieval.prefix_matches import MOST_CHARS, MOST_READ, matches, matches_in, typed_words

MOST = 8  # rows below the box: what a phone shows above its keyboard. A guess.


class Suggested(TextChoices):
    """The kinds of suggestions, in the order in which they are shown."""

    HISTORY = "history", _("Searched before")
    TITLE = "title", _("Title")
    HEADING = "heading", _("Heading")
    IDENTIFIER = "identifier", _("Identifier")


class SuggestionsThrottle(UserThrottle):
    """Limit suggestions, by user or by address; a rate of 0/min switches them off."""

    scope = "suggestions"
    get_cache_key = UserRateThrottle.get_cache_key

    @classmethod
    def is_off(cls) -> bool:
        """Whether the site wants no suggestions."""
        throttle = cls()
        return throttle.rate is not None and not throttle.num_requests


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text to search for in place of the typed one."""

    kind: Suggested
    text: str


def suggest(
    typed: str, viewer: Viewer, collections: Sequence[str] = (), *, reader: User | None = None
) -> list[Suggestion]:
    """At most MOST suggestions for what was typed, by kind, each text once.

    Of the collections with these slugs, or of all. With the own searches of `reader`, a signed-in
    user, or with none.
    """
    typed = clean_text(typed)
    configuration = current()
    hidden = hidden_from(typed, configuration.hides)
    scope = Scope.of(viewer, Filters(collections=tuple(collections))).without(hidden)
    library = matches_in(scope, typed, configuration.patterns)
    texts = {
        Suggested.HISTORY: _searches(reader, typed) if reader else [],
        Suggested.TITLE: library.titles,
        Suggested.HEADING: library.headings,
        Suggested.IDENTIFIER: library.identifiers,
    }
    chosen = islice(_in_turn(texts, typed), MOST)
    return sorted(chosen, key=lambda one: tuple(Suggested).index(one.kind))


def _in_turn(texts: dict[Suggested, list[str]], typed: str) -> Iterator[Suggestion]:
    """The best of each kind, then the second of each, and so on; no text twice."""
    once = {typed.casefold()}
    for turn in zip_longest(*texts.values()):
        for kind, text in zip(texts, turn, strict=True):
            if text is not None and text.casefold() not in once:
                once.add(text.casefold())
                yield Suggestion(kind, text)


def _searches(user: User, typed: str) -> list[str]:
    """The user's own searches that match, the newest first."""
    words = typed_words(typed)
    if not words or len(typed) > MOST_CHARS or not keeps_history(user):
        return []
    rows = history_of(user).filter(question__icontains=words[-1])
    questions = rows.values_list("question", flat=True)[:MOST_READ]
    return [each for each in questions if len(each) <= MOST_CHARS and matches(each, words)]
