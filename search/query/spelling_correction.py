"""Corrected spelling: which words of a query may be corrected, and to which near word."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ingestion.lexical.bigrams import characters
from search.domain import Query
from search.query.identifier_lookups import ASKING
from search.query.language import american
from search.query.parse import MAX_QUERY_CHARS

# Elasticsearch's fuzziness AUTO leaves words of up to 2 letters alone, allows one edit up to 5
# letters and two beyond. Words of 3 letters have too many neighbours to pick one.
MIN_LETTERS = 4
ONE_EDIT_UP_TO = 5
# Where the correction is searched at once. A guess: github is two edits from gitlab.
SURE_EDIT_UP_TO = 8
MAX_LETTERS = 40  # longer tokens are not words
MAX_WORDS = 8  # a guess that bounds the query's cost

_QUOTES = '"“”„«»'
# Never corrected: quoted text, fields with their values, excluded words. Each begins where a word
# does, so that a long text without spaces is not read again from each of its characters.
_OPERATORS = re.compile(
    rf"(?<![^\s{_QUOTES}])[^\s{_QUOTES}]*[{_QUOTES}][^{_QUOTES}]*(?:[{_QUOTES}]|$)"
    r" | (?<!\S)\S*:\S* | (?<!\S)-\S+"
    r" | (?<!\S)meta\.\S+",
    re.VERBOSE | re.IGNORECASE,
)
_TOKEN = re.compile(r"\S+")
_PART = re.compile(rf"[^\W\d_]{{{MIN_LETTERS},{MAX_LETTERS}}}")
_AROUND = "`'\"“”‘’«»?!.,;()[]{}…"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query: as typed, and its start offset in the query."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A word of the searched text with a spelling near to one of the query's.

    `chunks` is the number of chunks with it, `together` the number that also have the query's
    rarest known words.
    """

    text: str
    chunks: int
    together: int = 0


def checked(query: Query) -> tuple[tuple[str, str], ...]:
    """The words of a query that a text should hold, each with the form of an identifier or "".

    Its first plain words, without words of asking; its names and acronyms; its identifiers, once
    with each form, without those that may be none.
    """
    words = [word.text for word in _plain_words(query, _is_plain, _is_name)]
    return (
        *((word, "") for word in words if word.casefold() not in ASKING),
        *((one.text, form) for one in query.identifiers if not one.loose for form, _ in one.forms),
    )


def correctable(query: Query, names: Collection[str] = ()) -> tuple[Word, ...]:
    """The query's plain words: not in an operator, phrase or identifier, and without digits.

    Of `names`, which no text has, also the words that they are made of.
    """
    parts = [
        Word(part.group(), name.start() + part.start())
        for name in _TOKEN.finditer(query.original)
        if name.group().strip(_AROUND).rstrip(":") in names
        for part in _PART.finditer(name.group())
    ]
    return tuple(sorted({*_plain_words(query, _is_plain), *parts}, key=lambda word: word.start))


def _plain_words(query: Query, *kinds: Callable[[str], bool]) -> tuple[Word, ...]:
    """The first words of these kinds that are not in an operator, phrase or identifier."""
    original = query.original
    operators = deque(match.span() for match in _OPERATORS.finditer(original))
    codes = {part for one in query.identifiers for part in (one.text, *one.text.split())}
    words: list[Word] = []
    for match in _TOKEN.finditer(original):
        bare = match.group().strip(_AROUND)
        word = Word(bare, match.start() + match.group().find(bare))
        while operators and operators[0][1] <= word.start:
            operators.popleft()
        if operators and operators[0][0] < word.end:
            continue
        if bare not in codes and any(is_kind(bare) for is_kind in kinds):
            words.append(word)
            if len(words) == MAX_WORDS:
                break
    return tuple(words)


def corrected(
    query: Query,
    neighbours: Mapping[str, Sequence[Neighbour]],
    most: int = MAX_QUERY_CHARS,
    *,
    names: Collection[str] = (),
    surely: bool = False,
) -> str:
    """The query in which each word, also of these `names`, is replaced by its nearest neighbour.

    With `surely`, only by a near one. Empty if there is none, or if the result exceeds `most`
    characters.
    """
    text, position, changed = [], 0, False
    for word in correctable(query, names):
        limit = SURE_EDIT_UP_TO if surely else ONE_EDIT_UP_TO
        nearest = _nearest(word.text, neighbours.get(word.text, ()), limit)
        if nearest:
            text += [query.original[position : word.start], nearest]
            position, changed = word.end, True
    whole = "".join(text) + query.original[position:]
    return whole if changed and len(whole) <= most else ""


def edit_distance(one: str, other: str) -> int:
    """The number of insertions, deletions, replacements and swaps of adjacent letters.

    Damerau's distance (1964), with no letter edited twice.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        last, row, previous = row, [i], before
        for j, b in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, previous[j - 2] + 1)
            row.append(cost)
        before = last
    return row[-1]


def _is_plain(word: str) -> bool:
    """Whether it is an ordinary word: only letters, no inner capital, no run without spaces."""
    return (
        MIN_LETTERS <= len(word) <= MAX_LETTERS
        and word.isalpha()
        and word[1:] == word[1:].lower()
        and not characters(word)
    )


def _is_name(word: str) -> bool:
    """Whether it is a name or an acronym by its capitals: only letters, one within it."""
    return len(word) <= MAX_LETTERS and word.isalpha() and word[1:] != word[1:].lower()


def _nearest(word: str, neighbours: Sequence[Neighbour], one_edit_up_to: int) -> str:
    """The nearest neighbour; empty if all are too far, or if the word is one of them.

    Of equally near ones, the one most often together with the query's other words, then the most
    frequent. An acronym is near to acronyms alone, a British word to its American forms alone.
    """
    beginning = american(word)[:-1]  # of "colors" as well
    allowed = 1 if len(word) <= one_edit_up_to else 2
    typed = word.lower()
    measured = sorted(
        (edit_distance(typed, one.text.lower()), -one.together, -one.chunks, one.text)
        for one in neighbours
        if (one.text.isupper() or not word.isupper()) and one.text.lower().startswith(beginning)
    )
    if not measured or not 0 < measured[0][0] <= allowed:
        return ""
    nearest = measured[0][-1]
    if _is_name(word):
        return nearest
    return nearest.capitalize() if word[0].isupper() else nearest.lower()
