"""Which section of a passage holds the identifiers that a question names. Pure.

A register has many small sections, and several of them share a passage: the passage that the
identifier tier ranks first also holds the records beside the one that was asked for. Whatever
chooses a section, a snippet, a piece or a sentence reads `RecordLookup.holders`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self
from unicodedata import normalize

from ingestion.identifiers import (
    DEFAULT_PATTERNS,
    FULL,
    Pattern,
    begins_with,
    find_identifiers,
    index_forms,
)
from ingestion.lexical.normal_form import normal_form
from ingestion.lexical.second_forms import DIGITS, folded
from search.domain import Query, QueryIdentifier, forms_of
from search.ranking.tiers import identifiers_lead

# Added to the strength of an identifier in a heading: less than strengths differ by, so that a
# whole identifier in a text comes before a part of one in a heading, as in the index.
DEFINED, NAMED = 0.1, 0.05
_RUNS = re.compile(r"[0-9]+|[^\W\d_]+")
# Article 10, Annex B, Room B1.01: no pattern tells them from prose, but a heading begins with them.
_NUMBERED = re.compile(
    r"(?<!\w)([^\W\d_]{2,})\s+((?:[A-Z]{0,3}-?[0-9]+[a-z]?|[A-HJ-Z])(?:[-./][0-9A-Za-z]+)*)(?!\w)"
)

# More is asked for than what is named: after step 2, than A4, level 3 or 4, Model 3 and Model Y.
_AND = r"\s(?:and|or|und|oder|et|ou)\s"
_BEYOND = re.compile(
    r"(?<!\w)(?:after|before|since|until|than|between|from|over|under|compare|vs|versus"
    r"|nach|vor|seit|bis|als|zwischen|uber|unter|vergleiche?|apres|avant|depuis|entre)"
    rf"\s(?:\S+\s){{0,4}}\S*\d|\d\sto\s|\d{_AND}(?![^\d\s]\S*\s?\d)|[^\W\d]{_AND}[^\W\d]+\s\d"
)

YEAR = re.compile(r"1\d{3}|20\d\d")
"""“Jahr 1888” numbers nothing."""


@dataclass(frozen=True)
class RecordLookup:
    """The identifiers of a question that name a record, and the patterns that recognise them.

    `leads`: what holds one comes before every score, as in the ranking's tier (ADR 2). `is_bare`:
    the question is nothing else, or asks for them. `numbered`: its names of a word and a number or
    a letter, as (article, 10), which only headings that begin with them hold. `question`: what
    labels of rows and items are compared with; empty if it asks for more than such records.
    """

    identifiers: tuple[QueryIdentifier, ...] = ()
    leads: bool = False
    is_bare: bool = False
    patterns: Sequence[Pattern] = DEFAULT_PATTERNS
    numbered: tuple[tuple[str, str], ...] = ()
    question: str = ""

    @classmethod
    def of(cls, query: Query, patterns: Sequence[Pattern]) -> Self:
        """The lookup of a query: its identifiers if they lead, else only those with a number."""
        identifiers, leads = query.identifiers, identifiers_lead(query)
        if not leads:
            identifiers = tuple(one for one in identifiers if any(map(str.isdigit, one.text)))
        is_bare = query.is_identifier or query.asks_for_identifiers
        name = _NUMBERED.fullmatch(query.text.strip())
        is_bare = is_bare or (name is not None and not YEAR.fullmatch(name[2]))
        numbered = tuple(numbered_names(query.text))
        # An identifier that does not lead is not made to by a numbered name beside it.
        names = {f"{word} {code}".casefold() for word, code in numbered}
        others = {one.text.casefold() for one in identifiers} - names
        leads = leads or bool(names and not others)
        question = folded(normal_form(query.text).translate(DIGITS)).strip()
        question = "" if _BEYOND.search(question) else question
        return cls(identifiers, leads, is_bare, patterns, numbered, question)

    def holders(self, paths: Sequence[Sequence[str]], texts: Iterable[str]) -> list[float]:
        """How well each section of a passage holds an identifier: 0 if it does not.

        `paths` are the sections' headings, `texts` their texts, which are read only if no heading
        has a whole identifier. More than 1 is in a heading, most where one begins with it.
        """
        if not self.identifiers and not self.numbered:
            return [0.0] * len(paths)
        headings = [max(map(self._in_heading, path), default=0.0) for path in paths]
        if max(headings, default=0.0) > FULL:
            return headings
        return [max(pair) for pair in zip(headings, map(self.strength, texts), strict=True)]

    def strength(self, text: str) -> float:
        """The strength of the best match of an identifier in a text, in [0, 1]."""
        return self._match(text)[0]

    def matches(self, text: str) -> Iterator[tuple[float, int, int]]:
        """Yield the strength of each match of an identifier, and its [start, end)."""
        folded = normalize("NFKC", text).casefold()  # of digits in full width, too
        if not any(needle in folded for needle in self._needles):
            return
        for one in find_identifiers(text, self.patterns):
            if strength := max((self._strength(*form) for form in index_forms(one)), default=0.0):
                yield strength, one.start, one.end
        for expression, strength in self._as_typed:
            for match in expression.finditer(text):
                yield strength, *match.span()

    def names(self, label: str) -> bool:
        """Whether the question says the whole of a label that has a digit, or is a part of it."""
        plain = normal_form(label).translate(DIGITS).strip()
        own, other = folded(plain), folded(plain, written_out=True)
        pairs = (own, self.question), (other, self.question), (self.question, own)
        return any(
            part in whole and any(map(str.isdigit, part)) and _literal(part).search(whole)
            for part, whole in pairs
        )

    def says(self, word: str) -> bool:
        """Whether a word is a part of an identifier."""
        return word in self._words

    def is_written_as(self, word: str) -> bool:
        """Whether a word that matches is an identifier with other separators: 1,250,000, 1250000.

        Parts of it match, too, and are not it.
        """
        return _without_separators(word) in {_without_separators(o.text) for o in self.identifiers}

    def is_neighbour(self, path: Sequence[str]) -> bool:
        """Whether a section is named like one that is asked for, but has another number."""
        same = [same for each in path if (same := self._is_numbered(each)) is not None]
        return bool(same) and not any(same)

    def _is_numbered(self, heading: str) -> bool | None:
        """Whether a heading begins with a numbered name, or a part of it; None if with no such."""
        if not (match := _NUMBERED.match(heading)):
            return None
        codes = [code for word, code in self.numbered if word == match[1].casefold()]
        return any(f"{match[2]}.".startswith(f"{code}.") for code in codes) if codes else None

    def _in_heading(self, heading: str) -> float:
        if self._is_numbered(heading):
            return FULL + DEFINED
        # DateField.auto_now defines auto_now.
        strength, is_first = max(map(self._match, (heading, heading.rpartition(".")[2])))
        return strength + (DEFINED if is_first else NAMED) if strength else 0.0

    def _match(self, text: str) -> tuple[float, bool]:
        """The strength of the best match, and whether the text begins with it."""
        matches = ((strength, begins_with(text, at)) for strength, at, _ in self.matches(text))
        return max(matches, default=(0.0, False))

    def _strength(self, form: str, strength: float) -> float:
        """The strength of a text's form; one side must be a whole identifier, as in the index."""
        own = self._forms.get(form, 0.0)
        return own * strength if FULL in (own, strength) else 0.0

    @cached_property
    def _forms(self) -> dict[str, float]:
        return forms_of(self.identifiers)

    @cached_property
    def _needles(self) -> frozenset[str]:
        """A run of letters or digits of each form that every text with it contains."""
        runs = (_RUNS.findall(form) for form in self._forms)
        return frozenset(
            max(each, key=lambda run: (run.isdigit(), len(run)), default="") for each in runs
        )

    @cached_property
    def _as_typed(self) -> tuple[tuple[re.Pattern[str], float], ...]:
        """Expressions for the identifiers as they were typed, with their strengths: texts do not
        have some by themselves, as `Form 1040`, a bare `4711-0815`, a function with parameters.
        """
        typed = [(one.text, FULL) for one in self.identifiers]
        typed += [form for one in self.identifiers if one.loose for form in one.forms]
        return tuple((_literal(text), strength) for text, strength in typed)

    @cached_property
    def _words(self) -> frozenset[str]:
        texts = (one.text.casefold() for one in self.identifiers)
        return frozenset(run for text in texts for run in re.findall(r"[^\W_]+", text))


def numbered_names(text: str) -> list[tuple[str, str]]:
    """The names of a word and a number or a letter in a text: ("article", "10"), ("hall", "A")."""
    return [(word.casefold(), code) for word, code in _NUMBERED.findall(text)]


def _without_separators(word: str) -> str:
    # 12.00 is 12, but v2.0 is not v2.
    return re.sub(r"[\W_]+", "", re.sub(r"^([\d.,]+)[.,]00?$", r"\1", word)).casefold()


def _literal(typed: str) -> re.Pattern[str]:
    name = typed.removesuffix("()")
    words = r"\s+".join(map(re.escape, name.split()))
    goes_on = r"\w|[-./:]\w" if name != typed else r"\w|[-./:(]\w"
    return re.compile(rf"(?<![\w./:-]){words}(?!{goes_on})", re.IGNORECASE)


NO_LOOKUP = RecordLookup()
