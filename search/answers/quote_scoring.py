"""How well each sentence of a context answers a question. Pure.

A sentence's score is a weighted sum of what its words, its section, its passage and its nearness in
meaning say for it: a linear model fitted by listwise softmax (Cao et al. 2007).
benchmarks/notes/answers.md has the formula, benchmarks/README.md what it was fitted on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from ingestion.embedding import Vectors
from ingestion.lexical.normal_form import normal_form
from ingestion.lexical.second_forms import folded
from ingestion.lexical.sentences import Kind
from search.answers.content_words import STOP, words
from search.answers.domain import Context, Passage
from search.answers.quote_pieces import TextPart
from search.answers.record_parts import record_parts
from search.domain import TermStatistic
from search.presentation.records import NO_LOOKUP, RecordLookup

OVERLAP = 2.4  # the share of the question's idf that the sentence says
CONTEXT_OVERLAP = 3.0  # ... with the sentence before, the title and the headings
PASSAGE_OVERLAP = 2.2  # ... that the whole passage says
# ... that the heading of its section says: “If you have clicked a link” stands above the steps for
# that case, while those for the other say “Do not click any link”. A guess, less than
# OVERLAP: with 3 a sentence without a word of the question came before one below another heading.
HEADING_OVERLAP = 1.5
RECIPROCAL_RANK = 3.0  # 1 / rank of the passage
MEANING = 2.3  # a standard deviation of the cosine among the sentences compared
# It is the first of its section to say what the question's term is; chosen on forty questions about
# Celery's manual.
DEFINES = 6.0

# Only so many sentences are embedded, of which the first characters: with 3 seven of 772 first
# pieces fewer are right than with 6, in little more than half of the time
# (benchmarks/results/answers.md).
# One of them is of another passage, over which the best one's margin is measured.
EMBEDDED, OF_ONE_PASSAGE, READ = 3, 2, 400
# Cosines of a model that hardly differ must not decide. A guess; MiniLM's spread is about .12.
LEAST_SPREAD = 0.02
# By words alone margins are half as wide: 4.3, 2.5 and 4.9 in place of 8.3, 4.7 and 9.5 for right
# pieces of English texts, manuals and encyclopaedias.
WORDS_ALONE = 2.0

Floats = npt.NDArray[np.float64]

# The shapes of names in code: a_name, A_SETTING, ANameOfAClass, aName, --option, a.b.c.
IDENTIFIER = re.compile(
    r"(?<![\w-])--\w[\w-]*|\w*[^\W_]_\w+|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z0-9]+[A-Z]\w*"
    r"|\b[A-Z]{2,}[a-z]\w+|\b[^\W\d]\w*(?:\.[^\W\d]\w+)+"
)


_TERM = re.compile(
    r"""\s*what\ (?:(?:is|are)\ (?:an?\ |the\ )?(?P<one>[^?]+?)
    |(?:does|do)\ (?:an?\ |the\ )?(?P<other>[^?]+?)\ (?:do|mean))\s*\??\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_IS = r"(?:is|are|was|means?|can|lets?|allows?|defines?|describes?|returns?|specifies)\b(?! not\b)"
LONGEST_TERM = 3  # words
_LABEL = re.compile(r"[^\W\d][\w ]{1,24}:\s\S.{0,80}\Z")  # "Default: 30.": it defines nothing


@dataclass(frozen=True, slots=True)
class Definition:
    """The headings that are the name of a term, such as “DateField.auto_now” for auto_now, below
    which the first sentence defines it; and how a sentence begins that does so anywhere, if the
    question says that it asks for one.
    """

    heading: re.Pattern[str]
    sentence: re.Pattern[str] | None

    def is_in(self, text: str) -> bool:
        """Whether a sentence defines the term."""
        return self.sentence is not None and self.sentence.match(text) is not None


def definition_of(question: str) -> Definition | None:
    """The definition of the term that a question in English asks about, or is; None for others."""
    term = _TERM.fullmatch(question)
    name = (term["one"] or term["other"] if term else question).split()
    if not 0 < len(name) <= LONGEST_TERM:
        return None
    form = r"\s+".join(map(re.escape, name))
    sentence = rf"(?i)\W*(?:(?:an?|the)\b)?\W*{form}(?:e?s)?\W*(?:\w+\s)?{_IS}"
    return Definition(
        re.compile(rf"(?i)(?:\S+\.)?{form}(?:\(.*\))?"), re.compile(sentence) if term else None
    )


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A sentence of a passage with its scores.

    `at` is its place among the passage's `parts`, `path` the headings of its section. The overlaps
    are shares, in [0, 1], of the question's idf: of the sentence, with its context, of its
    section's heading, but for identifiers, and of the whole passage. `defines`: it says what the
    question's term is. `held` says how well its section, or the sentence, holds the identifier of a
    bare lookup; of another one, whether the passage does.
    """

    passage: Passage
    parts: Sequence[TextPart]
    at: int
    path: tuple[str, ...]
    overlap: float
    context_overlap: float
    heading_overlap: float
    passage_overlap: float
    defines: bool
    held: float

    @property
    def text(self) -> str:
        return self.passage.text[self.parts[self.at].start : self.parts[self.at].end]

    @property
    def line(self) -> str:
        """The row, or the paragraph, of the sentence."""
        own = [part for part in self.parts if part.line == self.parts[self.at].line]
        return self.passage.text[own[0].start : own[-1].end]

    @property
    def in_context(self) -> str:
        """The sentence after the title and heading of its section, as it is embedded.

        Without them .02 fewer answers are found: a sentence says "he" or "the company".
        """
        names = dict.fromkeys((self.passage.title, *self.path[-1:]))
        return ": ".join([*filter(None, names), self.text[:READ]])

    @property
    def by_words(self) -> float:
        """The score without the similarity of embeddings."""
        return (
            OVERLAP * self.overlap
            + CONTEXT_OVERLAP * self.context_overlap
            + HEADING_OVERLAP * self.heading_overlap
            + PASSAGE_OVERLAP * self.passage_overlap
            + DEFINES * self.defines
            + RECIPROCAL_RANK / max(self.passage.rank, 1)
        )


def offers_of(
    question: QuestionWords, context: Context, lookup: RecordLookup = NO_LOOKUP
) -> list[Offer]:
    """The sentences of a context that can answer, in its order; no heading is one.

    Of a passage with a record that the question names, only those of the record.
    """
    return [
        offer for passage in context.passages for offer in _of_passage(question, passage, lookup)
    ]


def _of_passage(question: QuestionWords, passage: Passage, lookup: RecordLookup) -> Iterator[Offer]:
    names = question.lexemes_in(" ".join((passage.title, *passage.heading_path)))
    in_passage = question.share(names | question.lexemes_in(passage.text))
    parts, held = record_parts(passage, lookup)
    is_holder = any(held.values()) or lookup.strength(passage.text) > 0
    before = about = frozenset[str]()
    form = question.definition
    path, around, number, is_defined, is_named = passage.heading_path, names, -1, False, False
    for at, part in enumerate(parts):
        if part.section != number:
            path, number, is_defined = passage.path_at(part.start), part.section, False
            around = question.lexemes_in(" ".join((passage.title, *path)))
            # What the section is named by, each of its sentences is about.
            about = frozenset(each for each in around if lookup.says(each.lstrip("-")))
            name = "".join(path[-1:])
            in_heading = question.share(question.lexemes_in(name) - about)
            is_named = form is not None and form.heading.fullmatch(name) is not None
            before = frozenset()
        text = passage.text[part.start : part.end]
        own = question.lexemes_in(text)
        says_more = part.kind is Kind.ROW or question.is_answered_by(text)  # Sunday | closed
        if any(map(str.isalnum, text)) and says_more:
            is_first = is_named and not _LABEL.match(text)
            defines = not is_defined and (is_first or bool(form and form.is_in(text)))
            is_defined = is_defined or defines
            shares = question.share(own | about), question.share(own | before | around)
            holds = held[number] or lookup.strength(text) if lookup.is_bare else float(is_holder)
            of_passage = in_heading, in_passage
            yield Offer(passage, parts, at, path, *shares, *of_passage, defines, holds)
        before = own


def scores(candidates: Sequence[Offer], cosines: Vectors | None) -> Floats:
    """The score of each sentence; without cosines, by words alone, with margins as wide."""
    by_words = np.array([offer.by_words for offer in candidates], dtype=np.float64)
    if cosines is None:
        return WORDS_ALONE * by_words
    spread = max(float(cosines.std()), LEAST_SPREAD)
    meaning: Floats = by_words + MEANING * (cosines - cosines.mean()) / spread
    return meaning


# A suffix of at most so many letters is an inflection of the same stem. A guess.
SUFFIX = 4
SHORTEST_STEM = 3
NUMBERED = re.compile(r"\d")
# As in the index (`second_forms`): among other words in capitals it is no acronym.
ACRONYM = re.compile(r"(?<![A-Z] )\b[A-Z]{2,5}\b(?! [A-Z]{2})")


def question_weights(question: str, terms: Sequence[TermStatistic]) -> dict[str, float]:
    """The weight of each lexeme of a question: the idf of the search, or 1 without terms.

    Stop words and words of asking ("how much") have none, but acronyms do (IT, WHO). Lexemes of the
    search may be stems; `says` compares them with words.
    """
    if terms:
        asking = STOP.intersection(words(question))
        own = (term for term in terms if not any(says(word, term.lexeme) for word in asking))
        return {term.lexeme: term.idf for term in own if term.idf > 0}
    acronyms = [name for name in ACRONYM.findall(question) if name.lower() in STOP]
    return dict.fromkeys([*(word for word in words(question) if word not in STOP), *acronyms], 1.0)


@dataclass(frozen=True)
class QuestionWords:
    """The lexemes of a question with their weights; `definition` is that of `definition_of`."""

    weights: Mapping[str, float]
    definition: Definition | None = None

    def is_answered_by(self, text: str) -> bool:
        """Whether a text says more than the question's own words: a name alone is no answer."""
        return any(not self._lexemes(word) for word in words(text))

    def share(self, terms: Set[str]) -> float:
        """The share, in [0, 1], of the weights that these lexemes have; 0 without weights."""
        total = sum(self.weights.values())
        return sum(w for each, w in self.weights.items() if each in terms) / total if total else 0.0

    def lexemes_in(self, text: str) -> frozenset[str]:
        """The lexemes of the question that occur in a text, in any inflection; also those typed
        without an accent in a word that is written with one.
        """
        if not text.isascii():
            form = normal_form(" ".join(word for word in text.split() if not word.isascii()))
            text = " ".join((text, folded(form), folded(form, written_out=True)))
        near = {word for word in words(text) if word.startswith(self._roots)}
        acronyms = (each for each, form in self._acronyms.items() if form.search(text))
        return frozenset(acronyms).union(*map(self._lexemes, near))

    @cached_property
    def _lexemes(self) -> Callable[[str], frozenset[str]]:
        return cache(lambda word: frozenset(each for each in self.weights if says(word, each)))

    @cached_property
    def _acronyms(self) -> Mapping[str, re.Pattern[str]]:
        """The question's lexemes in capitals, such as IT and C++, as patterns: no word is one."""
        names = (each for each in self.weights if each.isupper())
        return {each: re.compile(rf"(?<!\w){re.escape(each)}(?!\w)") for each in names}

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        return tuple(map(root, self.weights))


def says(word: str, lexeme: str) -> bool:
    """Whether a word is the lexeme or an inflection of it. Snowball also changes a stem's end:
    “citi”.
    """
    if word == lexeme:
        return True
    is_other = len(lexeme) < SHORTEST_STEM or abs(len(word) - len(lexeme)) > SUFFIX
    if is_other or NUMBERED.search(f"{word} {lexeme}"):
        return False
    return word.startswith(root(lexeme))


def root(lexeme: str) -> str:
    """The common beginning of all inflections of a lexeme."""
    return lexeme[:-1] if len(lexeme) > SHORTEST_STEM and lexeme[-1] in "iy" else lexeme
