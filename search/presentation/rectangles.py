"""The places of passages on the pages of their originals, for programs that mark them there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import OuterRef, Subquery

from ingestion.documents import picture_cache
from ingestion.errors import IngestionError
from ingestion.models import Chunk
from ingestion.models.visibility import Viewer
from ingestion.parsing.passage_rectangles import SCALE

# Pages are drawn for one response no longer than this, and a passage is looked for on no more
# pages. Guesses.
SECONDS = 2.0
MOST_PAGES = 3

Key = TypeVar("Key")
Rectangles = list[dict[str, Any]]
"""For each page its number (`page`) and `boxes`: left, top, right and bottom of each line, as
shares of the page's width and height from its top left corner."""


def rectangles_of(
    spans: Mapping[Key, tuple[Sequence[int], str]], *, viewer: Viewer
) -> dict[Key, Rectangles | None]:
    """The places of passages on the pages of their originals; empty if there are none.

    `spans` are the chunk ids of each passage, with the words to look for, or "" for all words. None
    if a page was not drawn in time: drawn pages are cached, so that a retry helps. One query.
    """
    following = Chunk.objects.filter(version=OuterRef("version"), ordinal=OuterRef("ordinal") + 1)
    rows = (
        Chunk.objects.visible_to(viewer)
        .filter(pk__in={pk for passages, _ in spans.values() for pk in passages})
        .annotate(until=Subquery(following.values("page")[:1]))
        .select_related("version")
        .defer("version__text", "lexemes", "terms", "section_terms")
        .order_by("version", "ordinal")
    )
    chunks = {chunk.pk: chunk for chunk in rows}
    deadline = time.monotonic() + SECONDS
    return {
        key: _rectangles([chunks[pk] for pk in passages if pk in chunks], words, deadline)
        for key, (passages, words) in spans.items()
    }


def _rectangles(chunks: Sequence[Any], words: str, deadline: float) -> Rectangles | None:
    boxes: dict[int, list[list[float]]] = {}
    for chunk in chunks:
        first = chunk.page or 1
        pages = picture_cache.page_count(chunk.version)
        last = min(chunk.until or first, first + MOST_PAGES - 1, pages)
        for page in range(first, last + 1):
            if time.monotonic() > deadline:
                return None
            try:
                # What was edited by hand is not what stands on the page.
                text = words or chunk.original or chunk.text
                places = picture_cache.places_on(chunk.version, page, text)
            except IngestionError:
                return None
            on_page = boxes.setdefault(page, [])
            lines = ([side / SCALE for side in place] for place in places)
            on_page += [line for line in lines if line not in on_page]
    return [{"page": page, "boxes": lines} for page, lines in sorted(boxes.items()) if lines]
