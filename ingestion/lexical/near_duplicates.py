"""A chunk's text -> a 64-bit signature for detecting near-duplicates. Pure.

Simhash (Charikar, STOC 2002; Manku, Jain & Das Sarma, WWW 2007): each bit is the majority among the
hashes of the text's features, so that texts with most features in common differ in few bits. A
feature is a pair of adjacent words, counted once. benchmarks/notes/results.md has the
measurements behind the features, weights and distance.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

# The most bits in which near-duplicates differ. Manku 2007 uses 3 for whole web pages; a passage
# of 150 words needs more, because each word is a larger share of it.
MAX_DISTANCE = 7
# Weight of a pair with a number; other pairs weigh 1. Editions of one text differ mainly in dates
# and versions.
NUMBER_WEIGHT = 0.5
# A guess: texts with fewer pairs of words ("Yes.", "See chapter 3.") are too short to compare.
MIN_FEATURES = 8

# Thai, Lao, Burmese, Khmer, Japanese, Chinese: scripts without spaces between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# A number with its points, commas and hyphens is one word (a version, a date), so that changing it
# changes two features. Unspaced scripts are split into overlapping pairs of letters, which the
# pairing of adjacent words turns into triples.
_WORDS = re.compile(
    rf"(\d+(?:[.,:/-]\d+)*|[^\W_{UNSPACED}]+)|(?=([{UNSPACED}]{{1,2}}))[{UNSPACED}]"
)

_Hashes = npt.NDArray[np.uint64]


def signature(text: str) -> int | None:
    """The signature as a signed 64-bit integer; None for a text too short to compare.

    Ignores case, punctuation, whitespace and differences that NFKC removes.
    """
    words = [word or letters for word, letters in _WORDS.findall(_folded(text))]
    hashes = np.fromiter(map(_hash, words), dtype="<u8", count=len(words))
    # Without the inner mixing "a b" and "b a" would have the same sum.
    pairs = _scrambled(_scrambled(hashes[:-1]) + hashes[1:])
    features, places = np.unique(pairs, return_index=True)
    if len(features) < MIN_FEATURES:
        return None
    numbers = np.array([word[0].isdecimal() for word in words])
    weights = np.where(numbers[:-1] | numbers[1:], NUMBER_WEIGHT, 1.0)[places]
    bits = np.unpackbits(features.view(np.uint8)).reshape(-1, 64)
    return int(np.packbits(weights @ bits > weights.sum() / 2).view("<i8")[0])


def distance(one: int, other: int) -> int:
    """The Hamming distance of two signatures: 0 to 64."""
    return ((one ^ other) & 0xFFFF_FFFF_FFFF_FFFF).bit_count()


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=1 << 15)
def _hash(word: str) -> int:
    """A 64-bit hash that is equal in every process, unlike `hash`."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _scrambled(hashes: _Hashes) -> _Hashes:
    """The SplitMix64 finaliser (Steele, Lea & Flood, OOPSLA 2014): full avalanche of bits."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
