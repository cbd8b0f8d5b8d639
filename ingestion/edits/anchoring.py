"""Where a hand edit belongs in a document that was parsed or cut anew. Pure.

Tried in this order, and never where two places would do:

1. the same text; among several the one with the same neighbours, then under the same headings;
2. between the same two neighbours under the same headings, if enough of the text is still there;
3. the place with most of the text.

A changed text is merged word by word (`ingestion.edits.merging`): what the person changed must
stand in the new text as it stood, whatever else has changed around it. So an edit also survives
other chunk sizes, as long as what it changes is not cut in two.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ingestion.edits.merging import rebased

# Shares of a passage's words, all of them guesses on the careful side: an edit that is listed as
# not fitting costs a person a minute, one in the wrong place misleads everybody.
MOST = 0.6  # of the old passage must be in the new one, or of the new one in the old
FEW = 0.3  # between the same neighbours this much is enough
MARGIN = 0.05  # by which the best place must lead
SHORTLIST = 8  # places compared word by word


@dataclass(frozen=True, slots=True)
class Place:
    """A passage as it was parsed. `ordinal` counts from 0 without gaps."""

    ordinal: int
    text: str
    content_hash: str
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Anchor:
    """What an edit was made on. `edited` is its new text, empty where that is unchanged.

    `hash_before` and `hash_after` are the neighbours', empty at the document's ends. `hides`: the
    edit takes the passage out of search, so that a place must not hold much else.
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
    """The place of an edit and the text there; empty where that is unchanged."""

    ordinal: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why an edit has no place, and the place that is most like its own, if any is."""

    reason: str
    nearest: int | None = None


NOWHERE = "No passage is enough like the one it was made for."
TWICE = "Several passages fit it equally well."
CHANGED = "The words that it changes have changed in the document themselves."
SAID = "The document says by itself what the edit made it say."
TAKEN = "Another edit stands on the passage where it would belong."


def text_hash(text: str) -> str:
    """The hash by which equal texts are known: that of a ChunkDraft."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def fits(anchors: Sequence[Anchor], places: Sequence[Place]) -> list[Fit | Misfit]:
    """The place of each anchor, or why it has none; no place is given twice.

    Where two edits want one place, the surer gets it: an equal text before a similar one.
    """
    ground = _Ground(places)
    found: dict[int, Fit | Misfit] = {}
    taken: set[int] = set()
    for attempt in (ground.same_text, ground.same_neighbours, ground.most_alike):
        for number, anchor in enumerate(anchors):
            if number in found:
                continue
            outcome = attempt(anchor)
            if isinstance(outcome, Fit):
                if outcome.ordinal in taken:
                    outcome = Misfit(TAKEN, outcome.ordinal)
                else:
                    taken.add(outcome.ordinal)
            if outcome is not None:
                found[number] = outcome
    return [found[number] for number in range(len(anchors))]


class _Ground:
    """The places, looked up by their text's hash and by their words."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        self.by_hash: dict[str, list[int]] = defaultdict(list)
        for position, place in enumerate(places):
            self.by_hash[place.content_hash].append(position)
        self._words: list[Counter[str]] | None = None

    def same_text(self, anchor: Anchor) -> Fit | Misfit | None:
        """The place with just this text; a misfit where several are alike in all around them."""
        held = self.by_hash.get(anchor.content_hash)
        if not held:
            return None
        keys = {position: self._kinship(anchor, position) for position in held}
        best = max(keys.values())
        chosen = [position for position, key in keys.items() if key == best]
        if len(chosen) > 1:
            return Misfit(TWICE, self.places[chosen[0]].ordinal)
        return Fit(self.places[chosen[0]].ordinal, anchor.edited)

    def same_neighbours(self, anchor: Anchor) -> Fit | Misfit | None:
        """The place between the anchor's neighbours, under its headings."""
        if not (anchor.hash_before and anchor.hash_after):
            return None
        held = [
            position + 1
            for position in self.by_hash.get(anchor.hash_before, ())
            if self._around(position + 1) == (anchor.hash_before, anchor.hash_after)
            and self.places[position + 1].heading_path == anchor.heading_path
        ]
        if len(held) != 1:
            return None
        likeness = _likeness(anchor.text, self.places[held[0]].text)
        if likeness.kept < FEW or (anchor.hides and likeness.own < MOST):
            return None
        return self._settled(anchor, held[0])

    def most_alike(self, anchor: Anchor) -> Fit | Misfit:
        """The place that has clearly most of the anchor's text."""
        ranked = sorted(
            ((_likeness(anchor.text, self.places[p].text), p) for p in self._shortlist(anchor)),
            key=lambda pair: -pair[0].ratio,
        )
        if not ranked:
            return Misfit(NOWHERE)
        nearest = self.places[ranked[0][1]].ordinal
        enough = [(likeness, p) for likeness, p in ranked if _enough(anchor, likeness)]
        if not enough:
            return Misfit(NOWHERE, nearest)
        # Where the text is changed, what holds the changed words is meant.
        settled = [(likeness, p, self._settled(anchor, p)) for likeness, p in enough]
        good = [(li, p, fit) for li, p, fit in settled if isinstance(fit, Fit)]
        if not good:
            return settled[0][2]
        if len(good) > 1 and good[0][0].ratio - good[1][0].ratio < MARGIN:
            keys = [self._kinship(anchor, p) for _, p, _ in good[:2]]
            if keys[0] == keys[1]:
                return Misfit(TWICE, nearest)
            return good[0][2] if keys[0] > keys[1] else good[1][2]
        return good[0][2]

    def _settled(self, anchor: Anchor, position: int) -> Fit | Misfit:
        place = self.places[position]
        if not anchor.edited:
            return Fit(place.ordinal)
        text = rebased(anchor.text, anchor.edited, place.text)
        if text is None:
            says_so = _squeezed(anchor.edited) in _squeezed(place.text)
            return Misfit(SAID if says_so else CHANGED, place.ordinal)
        return Fit(place.ordinal, text)

    def _kinship(self, anchor: Anchor, position: int) -> tuple[int, bool, bool]:
        """How much of what stands around is the same. The number alone never decides."""
        before, after = self._around(position)
        neighbours = (before == anchor.hash_before) + (after == anchor.hash_after)
        place = self.places[position]
        same_path = place.heading_path == anchor.heading_path
        same_number = neighbours == 2 and same_path and place.ordinal == anchor.ordinal
        return neighbours, same_path, same_number

    def _around(self, position: int) -> tuple[str, str]:
        """The hashes of the neighbours; empty at the ends."""
        before = self.places[position - 1].content_hash if position > 0 else ""
        last = position + 1 >= len(self.places)
        return before, "" if last else self.places[position + 1].content_hash

    def _shortlist(self, anchor: Anchor) -> Iterator[int]:
        """The places that share most words with the anchor."""
        if self._words is None:
            self._words = [Counter(_words(place.text)) for place in self.places]
        wanted = Counter(_words(anchor.text))
        shared = ((sum((wanted & held).values()), p) for p, held in enumerate(self._words))
        ranked = sorted((pair for pair in shared if pair[0]), key=lambda pair: (-pair[0], pair[1]))
        return (position for _, position in ranked[:SHORTLIST])


@dataclass(frozen=True, slots=True)
class _Likeness:
    """Shares of words in common: `kept` of the old text, `own` of the new one, `ratio` of both."""

    kept: float
    own: float
    ratio: float


def _likeness(old: str, new: str) -> _Likeness:
    left, right = _words(old), _words(new)
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    common = sum(block.size for block in blocks)
    both = len(left) + len(right)
    return _Likeness(
        kept=common / max(len(left), 1),
        own=common / max(len(right), 1),
        ratio=2 * common / max(both, 1),
    )


def _enough(anchor: Anchor, likeness: _Likeness) -> bool:
    if anchor.hides:
        return likeness.kept >= MOST and likeness.own >= MOST
    # A piece of the old passage is enough where the merge finds the changed words in it.
    return likeness.kept >= MOST or (bool(anchor.edited) and likeness.own >= MOST)


def _words(text: str) -> list[str]:
    return text.casefold().split()


def _squeezed(text: str) -> str:
    return " ".join(text.split())
