"""U4: a chunk's text -> a 64-bit signature by which near-duplicates are known. Pure.

Simhash (Charikar, STOC 2002; Manku, Jain & Das Sarma, WWW 2007): each bit is the majority's among
the hashes of the text's features, so that texts with most features in common differ in few bits.
A feature is a pair of neighbouring words, counted once. docs/adr/0016-grouping.md has the figures
that chose features, weights and bound.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Near-duplicates differ in this many bits at most. Manku 2007 has 3 for whole web pages; a passage
# of 150 words needs more, because one word of it is a larger share.
MAX_DISTANCE = 7
# What a pair with a number counts, where another counts 1: editions of one text differ in dates
# and versions first.
NUMBER_WEIGHT = 0.5
# A guess: a text with fewer pairs of words ("Yes.", "See chapter 3.") says too little to be a copy.
MIN_FEATURES = 8

# Thai, Lao, Burmese, Khmer, Japanese, Chinese: scripts without spaces between words.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# A number with its points, commas and hyphens is one word (a version, a date): one change of it
# then changes two features. Letters without spaces come as overlapping pairs, which the pairing
# of neighbours makes threes.
_WORDS = re.compile(
    rf"(\d+(?:[.,:/-]\d+)*|[^\W_{_UNSPACED}]+)|(?=([{_UNSPACED}]{{1,2}}))[{_UNSPACED}]"
)

_Hashes = npt.NDArray[np.uint64]
_FILL_BATCH = 500


def signature(text: str) -> int | None:
    """The signature as a signed integer of 64 bits; None for a text too short to judge.

    Case, punctuation, white space and forms that NFKC folds make no difference.
    """
    words = [word or letters for word, letters in _WORDS.findall(_folded(text))]
    hashes = np.fromiter(map(_hash, words), dtype="<u8", count=len(words))
    # Without the inner scrambling "a b" and "b a" would have one sum.
    pairs = _scrambled(_scrambled(hashes[:-1]) + hashes[1:])
    features, places = np.unique(pairs, return_index=True)
    if len(features) < MIN_FEATURES:
        return None
    numbers = np.array([word[0].isdecimal() for word in words])
    weights = np.where(numbers[:-1] | numbers[1:], NUMBER_WEIGHT, 1.0)[places]
    bits = np.unpackbits(features.view(np.uint8)).reshape(-1, 64)
    return int(np.packbits(weights @ bits > weights.sum() / 2).view("<i8")[0])


def distance(one: int, other: int) -> int:
    """In how many bits two signatures differ: 0 to 64."""
    return ((one ^ other) & 0xFFFF_FFFF_FFFF_FFFF).bit_count()


def fill_signatures(chunks: QuerySet[Any]) -> int:
    """How many of the chunks without a signature got one; for those from before there were any.

    `chunks` may be of a migration's model. Works in batches by id, so that it can be begun again.
    """
    filled, last = 0, 0
    waiting = chunks.filter(signature__isnull=True).order_by("pk").only("pk", "text")
    while batch := list(waiting.filter(pk__gt=last)[:_FILL_BATCH]):
        last = batch[-1].pk
        for chunk in batch:
            chunk.signature = signature(chunk.text)
        signed = [chunk for chunk in batch if chunk.signature is not None]
        filled += chunks.model._default_manager.bulk_update(signed, ["signature"])
    return filled


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=1 << 15)
def _hash(word: str) -> int:
    """64 bits that are the same in every process, unlike `hash`."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _scrambled(hashes: _Hashes) -> _Hashes:
    """The finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): every bit moves every bit."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
