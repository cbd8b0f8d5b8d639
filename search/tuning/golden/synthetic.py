"""W: golden queries to start with where nobody has judged: headings and first sentences.

A stand-in for people's questions: the document that a text was taken from is its answer. Such
queries use the document's own words, which flatters keywords and the title; so they are marked as
synthetic everywhere, count apart from people's, and go in one action.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection as Container
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Count

from ingestion.domain import BlockKind
from ingestion.identifiers import Pattern, find_identifiers
from ingestion.lexical.ngrams import spaced
from ingestion.models import Chunk, Document, Visibility
from ingestion.models.library import Viewer
from search.engine import configuration
from search.errors import JudgementError, NotPermitted
from search.query.expand import fold_query
from search.tuning.evaluation.asking import evaluator
from search.tuning.golden.judging import MAX_TEXT, ensure_query
from search.tuning.models import GoldenQuery, Judgement

if TYPE_CHECKING:
    from common.accounts.models import User

JUDGE = "synthetic"
GRADE = 2  # full marks are for people who judge
COUNT, MAX_COUNT = 100, 500
PASSAGES = 100  # of the beginning of a document: a manual's later headings are no better
TRIES = 3  # texts looked at of each sort, of each document
BATCH = 50
WORDS = 12  # people ask in few words; a sentence is cut to so many
FEWEST_WORDS = 4  # fewer of a sentence say too little
PROSE = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)
# Headings of so many documents that they ask for none of them, where a library has but one such.
PLAIN_HEADINGS = frozenset({
    "about this document", "about this manual", "appendix a", "change history", "change log",
    "further reading", "general information", "getting started", "how to use", "known issues",
    "open questions", "quick start", "related work", "release notes", "revision history",
    "see also", "table of contents", "terms and conditions", "what is new", "weitere informationen",
})  # fmt: skip
_SENTENCE = re.compile(r"(?s)\s*(.+?[.!?。！？])(?:\s|$)")
# What the query language reads otherwise than as words.
_SYNTAX = re.compile(r"[\"“”„«»*`|<>{}\[\]()]|(?<!\S)[-+]+|:(?=\s|$)|(?<=\w):(?=\w)")


@dataclass(frozen=True, slots=True)
class Made:
    """How many synthetic queries are new, and how many were golden queries already."""

    queries: int
    already: int


@dataclass(frozen=True, slots=True)
class _Texts:
    """What a document could be asked for by, best first."""

    headings: Sequence[str]
    sentences: Sequence[tuple[str, str]]
    """With the hash of the passage that each begins."""


@dataclass(frozen=True, slots=True)
class _Common:
    """What more than one document holds."""

    headings: Container[str] = field(default_factory=set)
    passages: Container[str] = field(default_factory=set)


@transaction.atomic
def make(count: int = COUNT, *, seed: int = 1, acting_user: User | None) -> Made:
    """Makes up to `count` golden queries of documents that the person may read.

    The same seed makes the same ones of the same library. One of a collection that is not open to
    everyone is asked in that collection, so that nobody else reads it. Raises NotPermitted, and
    JudgementError for a count out of range.
    """
    _check_permitted(acting_user, "tuning.add_goldenquery", "make golden queries")
    if not 1 <= count <= MAX_COUNT:
        raise JudgementError(f"Make 1 to {MAX_COUNT} queries at a time.")
    made = already = 0
    for text, document in islice(_texts(acting_user or evaluator(), seed), count):
        is_new = _keep(text, document, acting_user)
        made, already = made + is_new, already + (not is_new)
    return Made(made, already)


@transaction.atomic
def remove(*, acting_user: User | None) -> int:
    """How many synthetic queries are gone. What people have judged meanwhile stays, as theirs."""
    _check_permitted(acting_user, "tuning.delete_goldenquery", "remove golden queries")
    Judgement.objects.filter(judge_name=JUDGE, judge=None).delete()
    held = GoldenQuery.objects.filter(origin=GoldenQuery.Origin.SYNTHETIC)
    theirs = held.exclude(judgements=None, must_be_first=None)
    GoldenQuery.objects.filter(pk__in=list(theirs.values_list("pk", flat=True))).update(
        origin=GoldenQuery.Origin.PERSON
    )
    _, rows = held.delete()
    return rows.get(GoldenQuery._meta.label, 0)


def count() -> int:
    """How many synthetic queries there are."""
    return GoldenQuery.objects.filter(origin=GoldenQuery.Origin.SYNTHETIC).count()


def _check_permitted(user: User | None, permission: str, what: str) -> None:
    if user is not None and not user.has_perm(permission):
        raise NotPermitted(f"You do not have permission to {what}.")


def _keep(text: str, document: Document, acting_user: User | None) -> bool:
    """Writes the query and its answer; False where the question was a golden query before."""
    is_open = document.collection.visibility == Visibility.PUBLIC
    query, is_new = ensure_query(
        text,
        [] if is_open else [document.collection.slug],
        acting_user=acting_user,
        origin=GoldenQuery.Origin.SYNTHETIC,
    )
    if is_new:
        Judgement.objects.create(
            query=query,
            document=document,
            reference=document.public_id,
            title=document.title,
            grade=GRADE,
            judge_name=JUDGE,
        )
    return is_new


# --- which documents, and which of their texts ----------------------------------------------------


def _texts(viewer: Viewer, seed: int) -> Iterator[tuple[str, Document]]:
    """Telling texts with their documents: one of each document, every text once."""
    patterns = configuration.current().patterns
    order, seen = _sampled(viewer, seed), set[str]()
    while pks := list(islice(order, BATCH)):
        found = Document.objects.select_related("collection").in_bulk(pks)
        held = _held(pks)
        common = _common(held.values())
        for pk in pks:
            chance = random.Random(f"{seed}:{found[pk].public_id}")  # noqa: S311  # a sample
            text = _text(held[pk], found[pk].title, common, patterns, chance)
            if text and fold_query(text) not in seen:
                seen.add(fold_query(text))
                yield text, found[pk]


def _sampled(viewer: Viewer, seed: int) -> Iterator[int]:
    """The documents in an order of chance, of which any beginning has each collection's share."""
    rows = Document.objects.visible_to(viewer).exclude(current=None)
    shelves: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for pk, public_id, collection in rows.values_list("pk", "public_id", "collection"):
        name = hashlib.sha256(f"{seed}:{public_id}".encode()).hexdigest()
        shelves[collection].append((name, pk))
    placed = (
        ((rank + 0.5) / len(shelf), name, pk)
        for shelf in shelves.values()
        for rank, (name, pk) in enumerate(sorted(shelf))
    )
    return iter([pk for _, _, pk in sorted(placed)])


def _held(pks: Sequence[int]) -> dict[int, _Texts]:
    """The headings and first sentences of the documents, by pk."""
    headings: dict[int, dict[str, None]] = {pk: {} for pk in pks}
    sentences: dict[int, list[tuple[str, str]]] = {pk: [] for pk in pks}
    rows = Chunk.objects.filter(document__in=pks, searchable=True, ordinal__lt=PASSAGES)
    fields = ("document_id", "heading_path", "kind", "text", "content_hash")
    for pk, path, kind, text, name in rows.order_by("document", "ordinal").values_list(*fields):
        if path:
            headings[pk][path[-1]] = None
        if kind in PROSE and (sentence := _SENTENCE.match(text)):
            sentences[pk].append((" ".join(sentence[1].split()), name))
    return {pk: _Texts(list(headings[pk]), sentences[pk]) for pk in pks}


def _common(held: Iterable[_Texts]) -> _Common:
    """What of these texts stands in more than one document of the whole library."""
    texts = list(held)
    headings = {heading for each in texts for heading in each.headings}
    names = {name for each in texts for _, name in each.sentences}
    chunks = Chunk.objects.filter(searchable=True).order_by()
    paths = chunks.filter(heading_path__overlap=list(headings)) if headings else chunks.none()
    holders: Mapping[str, Counter[int]] = defaultdict(Counter)
    for document, path in paths.values_list("document", "heading_path").distinct():
        for heading in headings.intersection(path):
            holders[heading][document] += 1
    copies = chunks.filter(content_hash__in=names).values("content_hash")
    copied = copies.annotate(documents=Count("document", distinct=True)).filter(documents__gt=1)
    return _Common(
        {heading for heading, documents in holders.items() if len(documents) > 1},
        set(copied.values_list("content_hash", flat=True)),
    )


# --- pure: what is telling ------------------------------------------------------------------------


def _text(
    held: _Texts,
    title: str,
    common: _Common,
    patterns: Sequence[Pattern],
    chance: random.Random,
) -> str:
    """A text to ask for the document by: a heading or a sentence, as chance has it; or empty."""
    headings = [
        asked
        for heading in held.headings
        if heading not in common.headings
        and (asked := as_query(heading))
        and is_telling(asked)
        # The title's signal would find it by itself.
        and fold_query(heading) != fold_query(title)
    ]
    sentences = [
        asked
        for sentence, name in held.sentences
        if name not in common.passages and (asked := shortened(sentence, patterns))
    ]
    sorts = [each for each in (headings, sentences) if each]
    return chance.choice(chance.choice(sorts)[:TRIES]) if sorts else ""


def as_query(text: str) -> str:
    """The text without what the query language would read as more than words."""
    return " ".join(_SYNTAX.sub(" ", text).split())[:MAX_TEXT].strip()


def is_telling(heading: str) -> bool:
    """Whether somebody could ask for a document by this heading: two words that are no number's."""
    words = [word for word in spaced(heading).split() if any(map(str.isalpha, word))]
    return len(words) >= 2 and len(heading) >= 4 and fold_query(heading) not in PLAIN_HEADINGS


def shortened(sentence: str, patterns: Sequence[Pattern]) -> str:
    """The beginning of the sentence, with the identifiers of the rest; empty if it says little."""
    words = as_query(sentence).rstrip(".!?。！？").split()
    if len(spaced(" ".join(words)).split()) < FEWEST_WORDS:
        return ""
    if len(words) == 1:  # a script without spaces
        return words[0][: 2 * WORDS]
    rest = " ".join(words[WORDS:])
    named = dict.fromkeys(found.text for found in find_identifiers(rest, patterns))
    return " ".join([*words[:WORDS], *named])[:MAX_TEXT].strip()
