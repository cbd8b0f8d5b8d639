"""Example questions for the home page, made of headings of the largest documents.

A worker makes them when the library has changed, and keeps those whose search finds their own
document first. A page only reads which of their documents its reader may find.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

from django.core.cache import cache
from django.db.models import Count, Max
from redis import RedisError

from common.accounts.models import User
from ingestion.models import Chunk, Document
from ingestion.models.collections import JUDGED
from ingestion.models.visibility import Viewer
from search import pipeline
from search.errors import SearchError
from search.retrieval import Filters
from search.retrieval.filters import searchable

# Guesses: enough for readers of a few collections each, and for headings that find others first.
LARGEST, TRIED, MADE = 60, 3, 30
KEPT_SECONDS = 7 * 24 * 60 * 60
# While files arrive, the library changes all the time.
MOST_OFTEN_SECONDS = 3600
KEY = "example-questions"
# Three to nine words in one line; a name of a file, a version or an option is no question.
_QUESTION = re.compile(r"(?=.{12,70}$)[^\W\d_][\w’'-]*( [\w’'()-]+){2,8}\??")
_ASKS = re.compile(r".*\?$|how |what |when |where |why |who |which ", re.IGNORECASE)

Example = tuple[str, int]
_NONE: tuple[str, float, list[Example]] = ("", 0.0, [])  # the library's stamp, when, and examples


def examples_of(viewer: Viewer, most: int) -> list[str]:
    """The first `most` examples whose documents the viewer may find; one query, none without any.

    None, too, while the cache cannot be reached.
    """
    try:
        _, _, made = cache.get(KEY) or _NONE
    except (RedisError, OSError):
        made = []
    if not made:
        return []
    documents = searchable(viewer).filter(pk__in=[document for _, document in made])
    readable = set(documents.values_list("pk", flat=True))
    return [text for text, document in made if document in readable][:most]


def refresh() -> int:
    """Make the examples anew if the library has changed since; return the number of examples."""
    library = Document.objects.filter(current__isnull=False, deleted_at=None)
    stamp = str(library.aggregate(Count("pk"), Max("updated")))
    before, at, made = cache.get(KEY) or _NONE
    if stamp != before and (not made or time.time() - at > MOST_OFTEN_SECONDS):
        made = list(_made())
        cache.set(KEY, (stamp, time.time(), made), KEPT_SECONDS)
    return len(made)


def _made() -> Iterator[Example]:
    """At most MADE examples, in turn of the collections and one of a document."""
    administrator = User.objects.filter(is_superuser=True, is_active=True).first()
    of_collections: dict[str, list[Example]] = {}
    for document in _largest(administrator):
        slug = document.collection.slug
        headings = _headings(document)
        if text := next((each for each in headings if _finds(each, document, administrator)), ""):
            of_collections.setdefault(slug, []).append((text, document.pk))
    turns = chain.from_iterable(zip_longest(*of_collections.values()))
    once: set[str] = set()
    for example in filter(None, turns):
        if len(once) < MADE and example[0] not in once:
            once.add(example[0])
            yield example


def _largest(viewer: Viewer) -> Iterable[Document]:
    """The searchable documents with the most passages, the largest first."""
    return (
        searchable(viewer)
        .exclude(collection__name__startswith=JUDGED)
        .annotate(passages=Count("chunks"))
        .select_related("collection")
        .order_by("-passages", "pk")[:LARGEST]
    )


def _headings(document: Document) -> list[str]:
    """At most TRIED headings of a document that read as questions; those that ask come first."""
    sections = Chunk.objects.filter(version=document.current_id, searchable=True)
    rows = sections.order_by("ordinal").values_list("sections", flat=True)
    headings = dict.fromkeys(heading for row in rows for _, _, heading, _ in row or ())
    questions = [each for each in headings if _QUESTION.fullmatch(each)]
    return sorted(questions, key=lambda each: not _ASKS.match(each))[:TRIED]


def _finds(question: str, document: Document, viewer: Viewer) -> bool:
    """Whether a search in the document's collection finds the document first, and is sure of it."""
    filters = Filters(collections=(document.collection.slug,))
    try:
        # Not as a reader, whose searches the metrics count.
        response = pipeline.search(
            question, viewer=viewer, filters=filters, purpose=pipeline.Purpose.TUNER
        )
    except SearchError:
        return False
    is_first = bool(response.hits) and response.hits[0].document_id == document.pk
    return is_first and not response.low_confidence and not response.fits_nothing
