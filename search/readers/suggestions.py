"""Suggestions while typing: a reader's own searches, titles, headings and identifiers.

Of what searches of the reader may find, by the same scope. The typed words are words of a title or
of one heading, the last one the beginning of a word; an identifier begins with the typed text.
Indexes answer all three: `document_title_words`, `chunk_section_words` (both of
`steelyard_words`), `identifier_once_per_chunk`. Everything comes from the scope's chunks before
anything is cut off: a chunk outside changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, TextChoices
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _
from rest_framework.throttling import UserRateThrottle

from common.accounts.models import User
from common.api.throttles import UserThrottle
from common.database import named
from ingestion.identifiers import Pattern, find_identifiers, index_forms
from ingestion.lexical.second_forms import folded
from ingestion.models.visibility import Viewer
from search.engine.configuration import current
from search.query.parse import clean_text
from search.query.query_key import hidden_from
from search.readers.history import history_of, keeps_history
from search.retrieval import Filters, Scope

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
        """Whether the site offers no suggestions."""
        throttle = cls()
        return throttle.rate is not None and not throttle.num_requests


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text to search for in place of the typed one; a title or a heading is a result by itself.

    `document` is then the public id of its document, and `title` that document's. Of a heading,
    `chunk` is the ordinal of a passage with its section, and `anchor` the section's.
    """

    kind: Suggested
    text: str
    document: UUID | None = None
    title: str = ""
    chunk: int = 0
    anchor: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What readers see of it: one heading may be in several documents."""
        return self.text.casefold(), self.title


def suggest(
    typed: str, viewer: Viewer, collections: Sequence[str] = (), *, reader: User | None = None
) -> list[Suggestion]:
    """At most MOST suggestions for the typed text, by kind, each text once in a document.

    Only of the collections with these slugs, or of all without any. `reader`, a signed-in user,
    also gets their own searches.
    """
    typed = clean_text(typed)
    configuration = current()
    hidden = hidden_from(typed, configuration.hides)
    scope = Scope.of(viewer, Filters(collections=tuple(collections))).without(hidden)
    titles, headings, identifiers = matches_in(scope, typed, configuration.patterns)
    names = {each.text for each in titles}
    kinds = (
        _searches(reader, typed) if reader else [],
        titles,
        # The first heading of a document is often its title.
        [each for each in headings if each.text not in names],
        identifiers,
    )
    chosen = islice(_in_turn(kinds), MOST)
    return sorted(chosen, key=lambda one: tuple(Suggested).index(one.kind))


def _in_turn(kinds: Sequence[Sequence[Suggestion]]) -> Iterator[Suggestion]:
    """The best of each kind, then the second of each, and so on; searches for a text once."""
    searches: set[str] = set()
    for each in filter(None, chain.from_iterable(zip_longest(*kinds))):
        text = each.text.casefold()
        if each.kind is Suggested.HEADING or text not in searches:
            searches.add(text)
            yield each


def _searches(user: User, typed: str) -> list[Suggestion]:
    """The user's own searches that match, the newest first."""
    words = typed_words(typed)
    if not words or len(typed) > MOST_CHARS or not keeps_history(user):
        return []
    rows = history_of(user).filter(question__icontains=words[-1]).exclude(question__iexact=typed)
    questions = rows.values_list("question", flat=True)[:MOST_READ]
    return [
        Suggestion(Suggested.HISTORY, each)
        for each in questions
        if len(each) <= MOST_CHARS and matches(each, words)
    ]


# The most texts that are read for a beginning, in any order: the next letter distinguishes the
# others. Guesses, as the numbers below.
MOST_READ = 400
MOST_FORMS = 6
MOST_WORDS = 8
LEAST_CHARS, MOST_CHARS = 2, 200

_WORD = re.compile(r"[^\W_]+")
_RUN = re.compile(r"[^\W\d_]+|\d+")

_IN_SECTIONS = """
steelyard_words(NULL, jsonb_path_query_array(ingestion_chunk.sections, '$[*][2]')::text)
    @@ %s::tsquery
"""
# Materialised without a limit, which would let the planner read the whole table for the first rows;
# yet Postgres makes no more of these rows than are read. Laterals are one look into an index for
# each row, where EXISTS could become a join with all chunks.
_STATEMENT = """
WITH RECURSIVE titled AS MATERIALIZED (
    SELECT public_id, title, current_id FROM ingestion_document
    WHERE steelyard_words(NULL, title) @@ %(words)s::tsquery
),
sectioned(sections, ordinal, document_id) AS MATERIALIZED ({sections}),
form(beginning, form, chunk_id) AS (
    SELECT beginning, first.* FROM unnest(%(beginnings)s::text[]) beginning,
    LATERAL ({first_form}) first
    UNION ALL
    SELECT beginning, next.* FROM form, LATERAL ({next_form}) next
)
(SELECT 'title', title, NULL, public_id, title, 0 FROM titled, LATERAL ({current}) one LIMIT {most})
UNION ALL
(SELECT 'heading', sections::text, NULL, d.public_id, d.title, ordinal
 FROM sectioned JOIN ingestion_document d ON d.id = document_id LIMIT {most})
UNION ALL
SELECT 'identifier',
       concat_ws(E'\\n', d.title, array_to_string(c.heading_path, E'\\n'), c.text), form,
       NULL, '', 0
FROM (SELECT form, chunk_id FROM form LIMIT {most_forms}) form
JOIN ingestion_chunk c ON c.id = chunk_id JOIN ingestion_document d ON d.id = c.document_id
"""
# The first form after another with a chunk of the scope: each form is found by one look into the
# index, however many chunks have it.
_FORM = """
SELECT i.form, i.chunk_id FROM ingestion_identifier i, LATERAL ({chunk}) one
WHERE i.form {after} AND i.form < beginning || chr(1114111)
ORDER BY i.form, i.chunk_id LIMIT 1
"""


def typed_words(typed: str) -> list[str]:
    """The typed words in lower case, split as `steelyard_words` splits a text."""
    return _WORD.findall(typed.lower())


def matches(text: str, words: Sequence[str]) -> bool:
    """Whether all words are in the text, the last one as the beginning of a word.

    As they stand or without their accents.
    """
    forms = (text, folded(text), folded(text, written_out=True))
    own = [word for form in forms for word in typed_words(form)]
    return {*words[:-1]} <= {*own} and any(word.startswith(words[-1]) for word in own)


def best_first(suggestions: Iterable[Suggestion], typed: str) -> list[Suggestion]:
    """Those of at most MOST_CHARS, each once: those with the typed beginning first, then the
    shortest. Of a section in several passages, the first.
    """
    start = folded(typed)
    once: dict[tuple[str, str], Suggestion] = {}
    for each in sorted(suggestions, key=lambda one: one.chunk):
        if len(each.text) <= MOST_CHARS:
            once.setdefault(each.key, each)
    return sorted(
        once.values(),
        key=lambda one: (
            not folded(one.text).startswith(start),
            len(one.text),
            one.text,
            one.title,
        ),
    )


def matches_in(
    scope: Scope, typed: str, patterns: Sequence[Pattern]
) -> tuple[list[Suggestion], list[Suggestion], list[Suggestion]]:
    """The titles, headings and identifiers that match, in one query; none for a text too short."""
    words = typed_words(typed)
    if not LEAST_CHARS <= len(typed) <= MOST_CHARS or not 0 < len(words) <= MOST_WORDS:
        return [], [], []
    with connection.cursor() as cursor:
        cursor.execute(*_statement(scope, typed, words))
        rows = cursor.fetchall()
    headings = (
        Suggestion(Suggested.HEADING, heading, document, title, chunk, anchor)
        for kind, sections, _, document, title, chunk in rows
        if kind == "heading"
        for _, _, heading, anchor in json.loads(sections)
        if matches(heading, words)
    )
    mentions = (
        Suggestion(Suggested.IDENTIFIER, mention.text)
        for _, text, form, *_ in rows
        if form
        for mention in find_identifiers(text, patterns)
        if mention.text.casefold() != typed.casefold()
        and any(form == each.form for each in index_forms(mention))
    )
    titles = (
        Suggestion(Suggested.TITLE, text, document, text)
        for kind, text, _, document, *_ in rows
        if kind == "title"
    )
    return best_first(titles, typed), best_first(headings, typed), best_first(mentions, typed)


def _statement(scope: Scope, typed: str, words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    query = " & ".join(f"'{word}'" for word in words) + ":*"
    chunks = scope.chunks.order_by()
    conditions = {
        "sections": chunks.filter(_is(_IN_SECTIONS, query)).values(
            "sections", "ordinal", "document_id"
        ),
        "current": chunks.filter(_is("version_id = titled.current_id")).values("pk")[:1],
        "chunk": chunks.filter(_is("ingestion_chunk.id = i.chunk_id")).values("pk")[:1],
    }
    parts: dict[str, str] = {}
    params: dict[str, Any] = {"words": query, "beginnings": _beginnings(typed)}
    for name, rows in conditions.items():
        parts[name], own = named(rows, f"{name}_")
        params |= own
    chunk = parts.pop("chunk")
    statement = _STATEMENT.format(
        **parts,
        first_form=_FORM.format(after=">= beginning", chunk=chunk),
        next_form=_FORM.format(after="> form.form", chunk=chunk),
        most=MOST_READ,
        most_forms=MOST_FORMS,
    )
    return statement, params


def _is(condition: str, *params: str) -> RawSQL:
    return RawSQL(condition, params, output_field=BooleanField())


def _beginnings(typed: str) -> list[str]:
    """The beginnings of canonical forms that were typed; for INC-2031-7 also `inc2031-7`."""
    plain = "".join(typed.casefold().split())
    runs = _RUN.findall(plain)
    joined = "".join(
        run if not number or run.isdigit() != runs[number - 1].isdigit() else f"-{run}"
        for number, run in enumerate(runs)
    )
    return sorted({plain, joined} - {""})
