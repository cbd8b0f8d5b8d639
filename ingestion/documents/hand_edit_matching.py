"""Hand edits -> their passages in a document that was parsed or chunked again; merged texts. Pure.

Tried in this order; an ambiguous match is refused:

1. the same text; of several, the one with the same neighbours, then under the same headings;
2. between the same two neighbours under the same headings, if enough of the text remains;
3. the passage with most of the text.

A changed text is merged word by word, as lines are in version control: the words around a change
must be unchanged. So an edit survives other chunk sizes, unless its words are split between chunks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_TOKENS = re.compile(r"\w+|[^\w\s]|\s+")


def rebased(original: str, edited: str, fresh: str) -> str | None:
    """`fresh` with the changes from `original` to `edited`; None if they conflict.

    rebased(a, b, a) is b, and rebased(a, a, c) is c.
    """
    old, new, now = _tokens(original), _tokens(edited), _tokens(fresh)
    where = _positions(old, now)
    pieces: list[str] = []
    end = 0
    for tag, first, last, new_first, new_last in _matcher(old, new).get_opcodes():
        if tag == "equal":
            continue
        span = _span(where, first, last, len(old), len(now))
        if span is None or span[0] < end:
            return None
        pieces += now[end : span[0]]
        pieces += new[new_first:new_last]
        end = span[1]
    return "".join([*pieces, *now[end:]])


def _tokens(text: str) -> list[str]:
    return _TOKENS.findall(text)


def _matcher(first: Sequence[str], right: Sequence[str]) -> SequenceMatcher[str]:
    """A token comparison that treats all whitespace as equal, since line breaks may move."""
    return SequenceMatcher(
        None,
        [" " if token.isspace() else token for token in first],
        [" " if token.isspace() else token for token in right],
        autojunk=False,
    )


def _positions(old: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Old token position -> new position, for the tokens that remain."""
    blocks = _matcher(old, now).get_matching_blocks()
    return {block.a + i: block.b + i for block in blocks for i in range(block.size)}


def _span(
    where: dict[int, int], first: int, last: int, old_length: int, new_length: int
) -> tuple[int, int] | None:
    """[start, end) of old[first:last] in the new text; None if it or a neighbour has changed.

    A neighbour may be missing only at the beginning or end of the new text.
    """
    inside = [where.get(position) for position in range(first, last)]
    before = where.get(first - 1)
    after = where.get(last) if last < old_length else None
    start = inside[0] if inside else (before + 1 if before is not None else after)
    if start is None or any(place != start + i for i, place in enumerate(inside)):
        return None
    end = start + (last - first)
    left_fits = before == start - 1 if before is not None else start == 0
    right_fits = after == end if after is not None else end == new_length
    if first == 0 and before is None and start > 0:
        left_fits = bool(inside) or after == start  # the new text has more before it
    if last == old_length and after is None and end < new_length:
        right_fits = bool(inside) or before == end - 1
    return (start, end) if left_fits and right_fits else None


# Shares of a passage's words; conservative guesses: an edit listed as unplaced costs a person a
# minute, an edit on the wrong passage misleads every reader.
MOST = 0.6  # of the old passage must be in the new one, or of the new one in the old
FEW = 0.3  # is enough between the same neighbours
MARGIN = 0.05  # required lead of the best place over the second
SHORTLIST = 8  # number of places compared word by word


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """A parsed passage. `ordinal` counts from 0 without gaps."""

    ordinal: int
    text: str
    content_hash: str
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Anchor:
    """The passage that an edit was made on. `edited` is its new text, empty if unchanged.

    `hash_before` and `hash_after` are the neighbours', empty at the document's ends. `hides`: the
    edit removes the passage from search, so its place must not contain much other text.
    """

    text: str
    content_hash: str
    hash_before: str
    hash_after: str
    heading_path: tuple[str, ...]
    ordinal: int
    edited: str = ""
    hides: bool = False


@dataclass(frozen=True, slots=True)
class Fit:
    """The place of an edit and its new text, empty if unchanged."""

    ordinal: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Misfit:
    """The reason why an edit has no place."""

    reason: str


NOWHERE = "No passage is similar enough to the one that was edited."
TWICE = "Several passages match it equally well."
CHANGED = "The words that it changes have also changed in the document."
CONTAINED = "The document now contains the edited text itself."
PLACE_USED = "Another edit already applies to the matching passage."


def fits(anchors: Sequence[Anchor], places: Sequence[ChunkPlace]) -> list[Fit | Misfit]:
    """The place of each anchor, or the reason why it has none; no place is assigned twice.

    If two edits match one place, the stronger match gets it: equal text before similar text.
    """
    index = _PlaceIndex(places)
    fits_by_edit: dict[int, Fit | Misfit] = {}
    used_places: set[int] = set()
    for attempt in (index.same_text, index.same_neighbours, index.most_alike):
        for number, anchor in enumerate(anchors):
            if number in fits_by_edit:
                continue
            outcome = attempt(anchor)
            if isinstance(outcome, Fit):
                if outcome.ordinal in used_places:
                    outcome = Misfit(PLACE_USED)
                else:
                    used_places.add(outcome.ordinal)
            if outcome is not None:
                fits_by_edit[number] = outcome
    return [fits_by_edit[number] for number in range(len(anchors))]


class _PlaceIndex:
    """The places, indexed by the hash of their text and by their words."""

    def __init__(self, places: Sequence[ChunkPlace]) -> None:
        self.places = places
        self.by_hash: dict[str, list[int]] = defaultdict(list)
        for position, place in enumerate(places):
            self.by_hash[place.content_hash].append(position)
        self._words: list[Counter[str]] | None = None

    def same_text(self, anchor: Anchor) -> Fit | Misfit | None:
        """The place with equal text; a Misfit if several also have the same context."""
        positions = self.by_hash.get(anchor.content_hash)
        if not positions:
            return None
        keys = {position: self._context_match(anchor, position) for position in positions}
        best = max(keys.values())
        nearest = [position for position, key in keys.items() if key == best]
        if len(nearest) > 1:
            return Misfit(TWICE)
        return Fit(self.places[nearest[0]].ordinal, anchor.edited)

    def same_neighbours(self, anchor: Anchor) -> Fit | Misfit | None:
        """The place between the anchor's neighbours, under its headings."""
        if not (anchor.hash_before and anchor.hash_after):
            return None
        positions = [
            position + 1
            for position in self.by_hash.get(anchor.hash_before, ())
            if self._around(position + 1) == (anchor.hash_before, anchor.hash_after)
            and self.places[position + 1].heading_path == anchor.heading_path
        ]
        if len(positions) != 1:
            return None
        likeness = _likeness(anchor.text, self.places[positions[0]].text)
        if likeness.of_old < FEW or (anchor.hides and likeness.of_new < MOST):
            return None
        return self._fit_at(anchor, positions[0])

    def most_alike(self, anchor: Anchor) -> Fit | Misfit:
        """The place with clearly the largest part of the anchor's text."""
        ranked = sorted(
            ((_likeness(anchor.text, self.places[p].text), p) for p in self._shortlist(anchor)),
            key=lambda pair: -pair[0].ratio,
        )
        enough = [(likeness, p) for likeness, p in ranked if _enough(anchor, likeness)]
        if not enough:
            return Misfit(NOWHERE)
        # For a changed text, only places that contain the changed words qualify.
        outcomes = [(likeness, p, self._fit_at(anchor, p)) for likeness, p in enough]
        good = [(li, p, fit) for li, p, fit in outcomes if isinstance(fit, Fit)]
        if not good:
            return outcomes[0][2]
        if len(good) > 1 and good[0][0].ratio - good[1][0].ratio < MARGIN:
            keys = [self._context_match(anchor, p) for _, p, _ in good[:2]]
            if keys[0] == keys[1]:
                return Misfit(TWICE)
            return good[0][2] if keys[0] > keys[1] else good[1][2]
        return good[0][2]

    def _fit_at(self, anchor: Anchor, position: int) -> Fit | Misfit:
        place = self.places[position]
        if not anchor.edited:
            return Fit(place.ordinal)
        text = rebased(anchor.text, anchor.edited, place.text)
        if text is None:
            is_contained = _squeezed(anchor.edited) in _squeezed(place.text)
            return Misfit(CONTAINED if is_contained else CHANGED)
        return Fit(place.ordinal, text)

    def _context_match(self, anchor: Anchor, position: int) -> tuple[int, bool, bool]:
        """How much of the context matches, for comparison. The ordinal alone never decides."""
        before, after = self._around(position)
        neighbours = (before == anchor.hash_before) + (after == anchor.hash_after)
        place = self.places[position]
        same_path = place.heading_path == anchor.heading_path
        same_number = neighbours == 2 and same_path and place.ordinal == anchor.ordinal
        return neighbours, same_path, same_number

    def _around(self, position: int) -> tuple[str, str]:
        """The hashes of the neighbours; empty at the document's ends."""
        before = self.places[position - 1].content_hash if position > 0 else ""
        last = position + 1 >= len(self.places)
        return before, "" if last else self.places[position + 1].content_hash

    def _shortlist(self, anchor: Anchor) -> Iterator[int]:
        """The places with the most words in common with the anchor."""
        if self._words is None:
            self._words = [Counter(_words(place.text)) for place in self.places]
        own_words = Counter(_words(anchor.text))
        shared = ((sum((own_words & words).values()), p) for p, words in enumerate(self._words))
        ranked = sorted((pair for pair in shared if pair[0]), key=lambda pair: (-pair[0], pair[1]))
        return (position for _, position in ranked[:SHORTLIST])


@dataclass(frozen=True, slots=True)
class _Likeness:
    """The share of common words in the old text, in the new one, and in both (`ratio`)."""

    of_old: float
    of_new: float
    ratio: float


def _likeness(old: str, new: str) -> _Likeness:
    first, right = _words(old), _words(new)
    blocks = SequenceMatcher(None, first, right, autojunk=False).get_matching_blocks()
    common = sum(block.size for block in blocks)
    both = len(first) + len(right)
    return _Likeness(
        of_old=common / max(len(first), 1),
        of_new=common / max(len(right), 1),
        ratio=2 * common / max(both, 1),
    )


def _enough(anchor: Anchor, likeness: _Likeness) -> bool:
    if anchor.hides:
        return likeness.of_old >= MOST and likeness.of_new >= MOST
    # Part of the old passage is enough if the merge finds the changed words in it.
    return likeness.of_old >= MOST or (bool(anchor.edited) and likeness.of_new >= MOST)


def _words(text: str) -> list[str]:
    return text.casefold().split()


def _squeezed(text: str) -> str:
    return " ".join(text.split())
