"""The passages of a document that have the reader's words, to go through one by one."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from django.db.models.expressions import RawSQL

from ingestion.lexical.bigrams import spaced
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.presentation.document_text import chunks_of

# A question of more words is a pasted text, of which any passage holds some.
MOST_WORDS = 16
# If a passage has at least this many words of the question, another passage may lack one of them. A
# guess.
LENIENT_FROM = 3


@dataclass(frozen=True, slots=True)
class Hits:
    """The ordinals of a document's hits in order; `requested` is the opened passage."""

    ordinals: tuple[int, ...] = ()
    requested: int | None = None

    @property
    def total(self) -> int:
        return len(self.ordinals)

    @property
    def place(self) -> int | None:
        """The place of the opened passage among the hits, from 1; None before one is opened."""
        return None if self.requested is None else bisect_left(self.ordinals, self.requested) + 1

    @property
    def previous(self) -> int | None:
        place = self.place
        return self.ordinals[place - 2] if place is not None and place > 1 else None

    @property
    def following(self) -> int | None:
        place = self.place or 0
        return self.ordinals[place] if place < self.total else None


def hits_of(document: Document, *, viewer: Viewer, words: str, requested: int | None) -> Hits:
    """The passages with most of the `words`, and the requested one. One query, none without words.

    "Most" is the number in the best passage, or one fewer from LENIENT_FROM words on. The ranking
    of the search cannot tell this: it has a fixed number of nearest passages, however far they are.
    """
    words_once = list(dict.fromkeys(spaced(words).split()))[:MOST_WORDS]
    if not words_once or not document.current_id:
        return Hits()
    column = "ingestion_chunk"
    one = f"({column}.lexemes @@ plainto_tsquery({column}.text_config::regconfig, %s))::int"
    rows = (
        chunks_of(document, viewer)
        .annotate(matches=RawSQL(" + ".join([one] * len(words_once)), words_once))  # noqa: S611  # ours
        .filter(matches__gt=0)
        .values_list("ordinal", "matches")
    )
    return Hits(tuple(chosen_hits(dict(rows), requested)), requested)


def chosen_hits(counts: dict[int, int], requested: int | None) -> list[int]:
    """The ordinals of the passages with most words, and `requested`; `counts` are by ordinal."""
    best = max(counts.values(), default=0)
    least = best - 1 if best >= LENIENT_FROM else best
    ordinals = {ordinal for ordinal, count in counts.items() if count >= least}
    return sorted(ordinals | ({requested} if requested is not None else set()))
