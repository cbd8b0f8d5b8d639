"""The values of answers: Passage, Context, Citation, Sentence, Step, and the events of a stream.

Plain frozen values. No Django, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from ingestion.currency_dates import Currency
from ingestion.document_dates import DocumentDate
from search.domain import EvidenceLevel


class Mode(StrEnum):
    """The effort for an answer; docs/answers.md says when each is used.

    INSTANT: one search, and either quotes or one call of the model. AUTO: instant, and more if its
    confidence is low. THINKING: several searches, one answer, one round of repair.
    """

    INSTANT = "instant"
    AUTO = "auto"
    THINKING = "thinking"


CONFIDENCE = (
    "The probability that the answer answers the question, 0 to 1; null where it is not known."
)
# From this confidence on, quotes are called an answer: at most 10% of those are wrong
# (docs/answers.md).
SURE = 0.82

# The names in `Answered.degraded` of an answer that a model did not write, or not to its end.
MODEL_FAILED = frozenset({"model", "budget"})


class Verdict(StrEnum):
    """What the cited passages say about a sentence. UNCHECKED: it claims nothing.

    UNSUPPORTED: they lack one of its figures, identifiers, names or quoted words. UNVERIFIED: it
    cites no passage, or they have too few of its other words.
    """

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNVERIFIED = "unverified"
    UNCHECKED = "unchecked"


NOT_SUPPORTED = frozenset({Verdict.UNSUPPORTED, Verdict.UNVERIFIED})


class State(StrEnum):
    """The state of an answer. REFUSED: nothing that the asker may read seems to answer it.

    STOPPED: the asker stopped it or left. FAILED: it ended early and has no text.
    """

    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """A text from one version of a document: `ordinal` is the number of its first chunk.

    `start` and `end` are character offsets into the version's text; `text` may differ from it where
    a chunk was edited by hand. `date` is the document's own, or that of its upload.
    """

    document: int
    document_id: str
    version: int
    ordinal: int
    title: str
    heading_path: tuple[str, ...]
    page: int | None
    collection_id: int
    collection: str
    language: str
    start: int
    end: int
    text: str
    media_type: str = field(default="", compare=False)
    date: DocumentDate | None = field(default=None, compare=False)
    collection_slug: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage(SourceText):
    """A part of one version of a document, as the context holds it.

    `number` counts from 1 within the context; citations name it. It consists of one or more chunks
    (`chunk_ids`, in document order). `score` and `rank` are those of its best chunk. `sections` are
    the offsets in `text` and the paths of the sections in it, `layout` the offsets and kinds of its
    blocks; `completeness` is the column of the version, `currency` why the document is not current,
    None if it is. They are not stored.
    """

    number: int
    chunk_ids: tuple[int, ...]
    tokens: int
    score: float
    rank: int
    sections: tuple[tuple[int, tuple[str, ...]], ...] = ()
    layout: tuple[tuple[int, str], ...] = ()
    completeness: Mapping[str, Any] | None = field(default=None, compare=False)
    currency: Currency | None = field(default=None, compare=False)

    def path_at(self, offset: int) -> tuple[str, ...]:
        """The headings of its section at `offset`."""
        above = [path for start, path in self.sections if start <= offset]
        return above[-1] if above else self.heading_path


@dataclass(frozen=True, slots=True)
class Statement:
    """A line with figures at [start, end) of a passage's text; `figure` is the one that differs."""

    passage: Passage
    start: int
    end: int
    figure: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements of different documents that differ in a figure, the newer one first."""

    newer: Statement
    older: Statement

    @property
    def sides(self) -> tuple[Statement, Statement]:
        return self.newer, self.older


@dataclass(frozen=True, slots=True)
class Context:
    """The passages that an answer may stand on, in the order in which a model reads them.

    `tokens` is their sum, at most `budget`. `conflicts` are those of the first passages by rank.
    """

    passages: tuple[Passage, ...] = ()
    tokens: int = 0
    budget: int = 0
    conflicts: tuple[Conflict, ...] = field(default=(), compare=False)

    def with_currency(self, currencies: Mapping[int, Currency]) -> Context:
        """The context; passages of documents that are not current get the reason."""
        dated = (each for each in self.passages if each.document in currencies)
        states = {each.number: replace(each, currency=currencies[each.document]) for each in dated}
        return replace(self, passages=tuple(states.get(it.number, it) for it in self.passages))

    def passage(self, number: int) -> Passage | None:
        """The passage of that number; None if the context has none."""
        matches = (each for each in self.passages if each.number == number)
        return next(matches, None)

    def named_by(self, citations: Iterable[Citation]) -> Context:
        """The context; each passage is named by the section of its first quoted words."""
        quoted: dict[int, int] = {}
        for each in citations:
            if each.end:
                quoted.setdefault(each.passage, each.start)
        passages = (
            replace(each, heading_path=each.path_at(quoted[each.number]))
            if each.number in quoted
            else each
            for each in self.passages
        )
        return replace(self, passages=tuple(passages))


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference to a passage by its number. `start` and `end` are offsets of the quoted words
    into the passage's text; both 0 if the whole passage is meant.
    """

    passage: int
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, at [start, end) of its text, with the result of its check.

    `text` is the sentence without citation markers. `reasons` are sentences for readers on why it
    is not supported; empty if it is. `credit`, in [0, 1], is the worth of its citations (S4-16).
    """

    start: int
    end: int
    text: str
    citations: tuple[Citation, ...] = ()
    verdict: Verdict = Verdict.UNCHECKED
    reasons: tuple[str, ...] = ()
    credit: float = 1.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of calls to a model and their price; `estimated` if the server did not count."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an answer: its name ("search", "rewrite", "answer", ...), a detail for readers such
    as the text that was searched for, and its cost.
    """

    name: str
    detail: str = ""
    milliseconds: float = 0.0
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class AnswerParameters:
    """The parameters of answers; `models.AnswerSettings` describes each."""

    model: str = ""
    default_mode: Mode = Mode.AUTO
    system_prompt: str = ""
    refusal: str = ""
    temperature: float = 0.2
    max_tokens: int = 1000
    candidates: int = 20
    context_tokens: int = 5000
    min_passages: int = 6
    max_passages: int = 8
    expand: bool = True
    quotes: int = 3
    refuse_below: float = 0.2
    escalate_below: float = 0.3
    max_searches: int = 4
    first_token_seconds: float = 20.0
    token_seconds: float = 15.0
    total_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as it stands; while it is streamed, as far as it has come.

    `text` is Markdown with citation markers `[1]`, none of which names a missing passage.
    `searched_for` is the question that was searched for: standalone, in a conversation.
    `confidence` is the probability that the answer answers the question, 0 to 1; of a quote, that
    its first piece does (`answerability`), of a model's text an estimate (`product_confidence`).
    None if the retrieval has none. `model` is empty for an extractive answer. `degraded` names what
    failed: "model" or "budget", and signals and stages of the search.
    `dropped` counts markers of passages that do not exist. `is_cut`: the model was not allowed to
    write more; this is not stored. `error` is the code of a failure. `withheld`: its reader may not
    read all of its sources; then only the ids, the question, the modes and the state are filled.
    """

    id: str
    question: str
    searched_for: str
    asked_mode: Mode
    mode: Mode
    state: State = State.RUNNING
    text: str = ""
    context: Context = Context()
    sentences: tuple[Sentence, ...] = ()
    confidence: float | None = None
    retrieval_confidence: float | None = None
    model: str = ""
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    usage: Usage = Usage()
    dropped: int = 0
    milliseconds: float = 0.0
    first_token_ms: float | None = None
    thread: str = ""
    error: str = ""
    withheld: bool = False
    is_cut: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether it is called an answer, not only the best matching passage."""
        return bool(self.model) or (self.confidence or 0.0) >= SURE

    @property
    def evidence(self) -> EvidenceLevel:
        """How well its sources bear it out: STRONG from SURE on, if they bear out every sentence
        that claims something. NONE for a refusal, and for an answer that broke off.
        """
        if self.state not in (State.RUNNING, State.DONE):
            return EvidenceLevel.NONE
        doubted = any(each.verdict in NOT_SUPPORTED for each in self.sentences)
        is_strong = (self.confidence or 0.0) >= SURE and not doubted
        return EvidenceLevel.STRONG if is_strong else EvidenceLevel.WEAK

    @property
    def cited(self) -> tuple[int, ...]:
        """The numbers of the cited passages, in the order of their first citation."""
        numbers = (each.passage for row in self.sentences for each in row.citations)
        return tuple(dict.fromkeys(numbers))

    @property
    def cited_passages(self) -> tuple[Passage, ...]:
        return tuple(filter(None, map(self.context.passage, self.cited)))


# The events of a stream, in the order in which they can come: Begun first, where a model is asked
# before the first search; NewStep at any time, Sources before the first Token (again if a further
# search replaced the context), Checked for each complete sentence, one Done or Failed at the end.


@dataclass(frozen=True, slots=True)
class Begun:
    """The question is valid, and now a language model makes it standalone; that takes a while."""


@dataclass(frozen=True, slots=True)
class NewStep:
    step: Step


@dataclass(frozen=True, slots=True)
class Sources:
    """The context of the answer; a second one replaces the first, and any text sent so far."""

    context: Context


@dataclass(frozen=True, slots=True)
class Token:
    """Text to append. Never half a citation marker."""

    text: str


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation, sent with the token that contains its marker."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class Checked:
    """Sentence number `index`, from 0, with its verdict; a second one replaces the first."""

    index: int
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Done:
    answer: Answered


@dataclass(frozen=True, slots=True)
class Failed:
    """The end of an answer that has no text; `message` says what the reader can do."""

    code: str
    message: str
    answer: Answered | None = field(default=None)


Event: TypeAlias = Begun | NewStep | Sources | Token | Cited | Checked | Done | Failed
