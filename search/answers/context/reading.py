"""Reads the chunks of the best hits, as the viewer, and makes the context of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

from ingestion.models import Chunk
from ingestion.models.library import Viewer
from search.answers.context.assembly import Selection, select
from search.answers.context.pieces import Piece
from search.answers.domain import AnswerParameters, Context
from search.domain import Hit

# Neighbours read on each side of a passage: 800 tokens in chunks of a hundred. A guess.
REACH = 8
_FIELDS = (
    "pk", "document_id", "version_id", "ordinal", "text", "original", "kind", "heading_path",
    "page", "start", "end", "content_hash", "signature", "collection_id", "collection__name",
    "document__public_id", "document__title", "document__language",
)  # fmt: skip


def context_of(hits: Sequence[Hit], *, viewer: Viewer, parameters: AnswerParameters) -> Context:
    """The context of a ranking's first hits; empty if none of them can be read.

    One query, and one more for the neighbours of the passages.
    """
    return context_of_all([hits], viewer=viewer, parameters=parameters)


def context_of_all(
    rankings: Sequence[Sequence[Hit]], *, viewer: Viewer, parameters: AnswerParameters
) -> Context:
    """The one context of several rankings, such as of the parts of a question; as many queries as
    `context_of`.

    `parameters.candidates` of each ranking are merged by `merged`; a passage's `rank` is its place
    among all of them.
    """
    places = merged([ranking[: parameters.candidates] for ranking in rankings])
    if not places:
        return Context(budget=parameters.context_tokens)
    pieces = _pieces(Q(pk__in=list(places)), viewer, places)
    selection = select(pieces, parameters)
    if selection.may_grow:
        selection = selection.grown(_pieces(_around(selection), viewer, {}))
    return selection.context()


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a hit among the candidates, from 1."""

    rank: int
    hit: Hit


def merged(rankings: Sequence[Sequence[Hit]]) -> dict[int, Place]:
    """The place of each chunk in several rankings, by its id.

    By the best rank that a ranking gives it, so that the first hit of each part of a question comes
    before the second of any: the parts ask for different passages, while reciprocal rank fusion
    would prefer those that fit all parts a little. The sum of the reciprocal ranks decides between
    equal ranks, then the order of the rankings.
    """
    best: dict[int, Hit] = {}
    sums: dict[int, float] = {}
    for ranking in rankings:
        for hit in ranking:
            sums[hit.chunk_id] = sums.get(hit.chunk_id, 0.0) + 1 / hit.rank
            held = best.get(hit.chunk_id)
            if held is None or hit.rank < held.rank:
                best[hit.chunk_id] = hit
    ordered = sorted(best, key=lambda chunk: (best[chunk].rank, -sums[chunk]))
    return {chunk: Place(rank, best[chunk]) for rank, chunk in enumerate(ordered, start=1)}


def _around(selection: Selection) -> Q:
    """The neighbours of the passages under the same headings."""
    return reduce(
        or_,
        (
            Q(
                version=run.first.version,
                ordinal__gte=max(0, run.first.ordinal - REACH),
                ordinal__lte=run.last.ordinal + REACH,
                heading_path=list(run.heading_path),
            )
            for run in selection.runs
        ),
    )


def _pieces(wanted: Q, viewer: Viewer, places: Mapping[int, Place]) -> list[Piece]:
    rows: Iterable[Any] = Chunk.objects.visible_to(viewer).filter(wanted).values(*_FIELDS)
    return [_piece(row, places.get(row["pk"])) for row in rows]


def _piece(row: Mapping[str, Any], place: Place | None) -> Piece:
    candidate = place.hit.candidate if place else None
    match = candidate.identifier if candidate else None
    return Piece(
        chunk_id=row["pk"],
        document=row["document_id"],
        document_id=str(row["document__public_id"]),
        version=row["version_id"],
        ordinal=row["ordinal"],
        title=row["document__title"],
        heading_path=tuple(row["heading_path"]),
        page=row["page"],
        collection_id=row["collection_id"],
        collection=row["collection__name"],
        language=row["document__language"],
        start=row["start"],
        end=row["end"],
        text=row["text"],
        score=place.hit.score if place else 0.0,
        rank=place.rank if place else 0,
        kind=row["kind"],
        original=row["original"],
        content_hash=row["content_hash"],
        signature=row["signature"],
        form=match.form if match else "",
        is_pinned=candidate is not None and candidate.pin is not None,
    )
