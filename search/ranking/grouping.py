"""Q6: a ranking -> groups: each document by its best hit, near-duplicates under the better one.

Grouping takes nothing away and changes no order: every hit stands in exactly one group, and the
groups stand as their best hits do. It reads the whole ranking, so that no page changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from search.domain import Hit


@dataclass(frozen=True, slots=True)
class Group:
    """A document's place in a ranking: its best hit, and what is folded under it, best first.

    `folded` are the other hits of the same document; `copies` hits of other documents with nearly
    the text of one of this group's.
    """

    best: Hit
    folded: tuple[Hit, ...] = ()
    copies: tuple[Hit, ...] = ()


@dataclass(slots=True)
class _Gathering:
    best: Hit
    folded: list[Hit] = field(default_factory=list)
    copies: list[Hit] = field(default_factory=list)


def grouped(hits: Sequence[Hit], *, max_distance: int) -> tuple[Group, ...]:
    """The groups of a ranking, in the order of their best hits.

    A hit goes to its document's group; else to that of the best hit before it whose signature
    differs from its own in at most `max_distance` bits; else it begins a group. What is pinned
    is never folded under another document, nor what names one identifier of the query under
    what names another.
    """
    gatherings: list[_Gathering] = []
    by_document: dict[int, _Gathering] = {}
    signed = np.array([hit.candidate.signature or 0 for hit in hits], dtype=np.int64)
    signatures = signed.view(np.uint64)  # of a negative number numpy counts the magnitude's bits
    places: list[_Gathering] = []
    for position, hit in enumerate(hits):
        gathering = by_document.get(hit.candidate.document_id)
        if gathering is not None:
            gathering.folded.append(hit)
        else:
            likes = _likes(hits, signatures, position, max_distance)
            original = next((earlier for earlier in likes if _may_fold(hit, hits[earlier])), None)
            if original is not None:
                gathering = places[original]
                gathering.copies.append(hit)
            else:
                gathering = by_document[hit.candidate.document_id] = _Gathering(hit)
                gatherings.append(gathering)
        places.append(gathering)
    return tuple(Group(g.best, tuple(g.folded), tuple(g.copies)) for g in gatherings)


def _likes(
    hits: Sequence[Hit], signatures: npt.NDArray[np.uint64], position: int, max_distance: int
) -> Iterable[int]:
    """The positions before `position` whose signatures are near to its own, first ones first."""
    if hits[position].candidate.signature is None:
        return ()
    # All at once: a few microseconds for hundreds of hits, where bands of bits in dictionaries,
    # as in Manku 2007, take as long in Python.
    distances = np.bitwise_count(signatures[:position] ^ signatures[position])
    near = np.flatnonzero(distances <= max_distance).tolist()
    return (earlier for earlier in near if hits[earlier].candidate.signature is not None)


def _may_fold(hit: Hit, under: Hit) -> bool:
    """Whether a near-duplicate may stand under the better hit instead of for itself."""
    if hit.candidate.pin is not None:
        return False
    own, other = hit.candidate.identifier, under.candidate.identifier
    return own is None or (other is not None and own.form == other.form)
