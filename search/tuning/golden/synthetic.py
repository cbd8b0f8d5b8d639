"""Synthetic golden queries from headings and first sentences, to start without judgements.

A substitute for people's questions: the source document of a text is its answer. Such queries use
the document's own words, which favours keywords and titles; so they are marked as synthetic
everywhere, counted separately, and can be removed in one action.
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
from django.utils.translation import gettext

from ingestion.domain import BlockKind
from ingestion.identifiers import Pattern, find_identifiers
from ingestion.lexical.languages import spaced
from ingestion.models import Chunk, Document, Visibility
from ingestion.models.library import Viewer
from search.engine import configuration
from search.errors import JudgementError, NotPermitted
from search.query.expand import fold_query
from search.tuning.evaluation.runner import evaluator
from search.tuning.golden.judging import ensure_query
from search.tuning.models import GoldenQuery, Judgement

if TYPE_CHECKING:
    from common.accounts.models import User

JUDGE = "synthetic"
GRADE = 2  # 3 is reserved for people who judge
COUNT, MAX_COUNT = 100, 500
MAX_TEXT = 500
PASSAGES = 100  # at the start of a document: later headings are no better
TRIES = 3  # candidate texts of each kind per document
BATCH = 50
WORDS = 12  # questions are short: a sentence is cut to this length
FEWEST_WORDS = 4  # a shorter sentence is too vague
PROSE = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)
# Generic headings, excluded even if only one document of the library has them.
PLAIN_HEADINGS = frozenset({
    "about this document", "about this manual", "appendix a", "change history", "change log",
    "further reading", "general information", "getting started", "how to use", "known issues",
    "open questions", "quick start", "related work", "release notes", "revision history",
    "see also", "table of contents", "terms and conditions", "what is new", "weitere informationen",
})  # fmt: skip
_SENTENCE = re.compile(r"(?s)\s*(.+?[.!?。！？])(?:\s|$)")
# Operators of the query language.
_SYNTAX = re.compile(r"[\"“”„«»*`|<>{}\[\]()]|(?<!\S)[-+]+|:(?=\s|$)|(?<=\w):(?=\w)")


@dataclass(frozen=True, slots=True)
class Made:
    """The numbers of new synthetic queries and of those that existed already."""

    queries: int
    already: int


@dataclass(frozen=True, slots=True)
class _Texts:
    """The candidate texts of a document, the best first."""

    headings: Sequence[str]
    sentences: Sequence[tuple[str, str]]
    """Each with the hash of its passage."""


@dataclass(frozen=True, slots=True)
class _Common:
    """Texts that more than one document contains."""

    headings: Container[str] = field(default_factory=set)
    passages: Container[str] = field(default_factory=set)


@transaction.atomic
def make(count: int = COUNT, *, seed: int = 1, acting_user: User | None) -> Made:
    """Create up to `count` golden queries from documents that the person may read.

    The same seed gives the same queries for the same library. A query from a collection that is
    not public is limited to that collection, so that nobody else can read it. Raises NotPermitted,
    and JudgementError for a count out of range.
    """
    _check_permitted(acting_user, "tuning.add_goldenquery", gettext("create golden queries"))
    if not 1 <= count <= MAX_COUNT:
        raise JudgementError(
            gettext("Choose a number from 1 to %(maximum)s.") % {"maximum": MAX_COUNT}
        )
    added = already = 0
    for text, document in islice(_texts(acting_user or evaluator(), seed), count):
        is_new = _keep(text, document, acting_user)
        added, already = added + is_new, already + (not is_new)
    return Made(added, already)


@transaction.atomic
def remove(*, acting_user: User | None) -> int:
    """Remove all synthetic queries; return how many. Queries that people have judged are kept."""
    _check_permitted(acting_user, "tuning.delete_goldenquery", gettext("delete golden queries"))
    Judgement.objects.filter(judge_name=JUDGE, judge=None).delete()
    queries = GoldenQuery.objects.filter(origin=GoldenQuery.Origin.SYNTHETIC)
    judged = queries.exclude(judgements=None, must_be_first=None)
    GoldenQuery.objects.filter(pk__in=list(judged.values_list("pk", flat=True))).update(
        origin=GoldenQuery.Origin.PERSON
    )
    _, rows = queries.delete()
    return rows.get(GoldenQuery._meta.label, 0)


def count() -> int:
    """The number of synthetic queries."""
    return GoldenQuery.objects.filter(origin=GoldenQuery.Origin.SYNTHETIC).count()


def _check_permitted(user: User | None, permission: str, what: str) -> None:
    if user is not None and not user.has_perm(permission):
        raise NotPermitted(gettext("You do not have permission to %(what)s.") % {"what": what})


def _keep(text: str, document: Document, acting_user: User | None) -> bool:
    """Save the query and its answer; return False if the question was a golden query already."""
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


# --- sampling documents and their texts ----------------------------------------------------------


def _texts(viewer: Viewer, seed: int) -> Iterator[tuple[str, Document]]:
    """Distinct informative texts with their documents, at most one per document."""
    patterns = configuration.current().patterns
    order, seen = _sampled(viewer, seed), set[str]()
    while pks := list(islice(order, BATCH)):
        documents = Document.objects.select_related("collection").in_bulk(pks)
        parts = _held(pks)
        common = _common(parts.values())
        for pk in pks:
            chance = random.Random(f"{seed}:{documents[pk].public_id}")  # noqa: S311  # not for security
            text = _text(parts[pk], documents[pk].title, common, patterns, chance)
            if text and fold_query(text) not in seen:
                seen.add(fold_query(text))
                yield text, documents[pk]


def _sampled(viewer: Viewer, seed: int) -> Iterator[int]:
    """The documents in random order, any prefix of it stratified by collection."""
    rows = Document.objects.visible_to(viewer).exclude(current=None)
    by_collection: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for pk, public_id, collection in rows.values_list("pk", "public_id", "collection"):
        name = hashlib.sha256(f"{seed}:{public_id}".encode()).hexdigest()
        by_collection[collection].append((name, pk))
    placed = (
        ((rank + 0.5) / len(group), name, pk)
        for group in by_collection.values()
        for rank, (name, pk) in enumerate(sorted(group))
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
    """Those of the texts that more than one document of the library contains."""
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


# --- choosing an informative text (pure) ----------------------------------------------------------


def _text(
    texts: _Texts,
    title: str,
    common: _Common,
    patterns: Sequence[Pattern],
    chance: random.Random,
) -> str:
    """A random heading or sentence that identifies the document; empty if there is none."""
    headings = [
        question
        for heading in texts.headings
        if heading not in common.headings
        and (question := as_query(heading))
        and is_informative(question)
        # The title signal alone would find it.
        and fold_query(heading) != fold_query(title)
    ]
    sentences = [
        question
        for sentence, name in texts.sentences
        if name not in common.passages and (question := shortened(sentence, patterns))
    ]
    sorts = [each for each in (headings, sentences) if each]
    return chance.choice(chance.choice(sorts)[:TRIES]) if sorts else ""


def as_query(text: str) -> str:
    """The text without operators of the query language."""
    return " ".join(_SYNTAX.sub(" ", text).split())[:MAX_TEXT].strip()


def is_informative(heading: str) -> bool:
    """True if the heading has at least two words with letters and is not generic."""
    words = [word for word in spaced(heading).split() if any(map(str.isalpha, word))]
    return len(words) >= 2 and len(heading) >= 4 and fold_query(heading) not in PLAIN_HEADINGS


def shortened(sentence: str, patterns: Sequence[Pattern]) -> str:
    """The start of the sentence, with the identifiers of the rest; empty if it is too short."""
    words = as_query(sentence).rstrip(".!?。！？").split()
    if len(spaced(" ".join(words)).split()) < FEWEST_WORDS:
        return ""
    if len(words) == 1:  # a script without spaces
        return words[0][: 2 * WORDS]
    rest = " ".join(words[WORDS:])
    named = dict.fromkeys(found.text for found in find_identifiers(rest, patterns))
    return " ".join([*words[:WORDS], *named])[:MAX_TEXT].strip()
