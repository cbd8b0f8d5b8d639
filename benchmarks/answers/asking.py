"""One judged question: its contexts, quotes and baselines, and its answer in each mode."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.answers.figures import holds, holds_any
from benchmarks.answers.questions import Question
from ingestion.lexical.sentences import sentences
from ingestion.models import Chunk, Collection
from search.answers import answering
from search.answers.domain import Answered, AnswerParameters, Citation, Context, Mode, State
from search.answers.extracting.answer_types import AnswerType
from search.answers.extracting.quotes import Extract
from search.answers.extracting.scoring import question_weights, says
from search.answers.making.searching import context_of_all
from search.answers.making.writing import extracted
from search.answers.request import AnswerRequest
from search.answers.wire import supported_share
from search.answers.words import words
from search.domain import TermStatistic
from search.errors import InvalidFilter, NothingAsked, QueryTooLong
from search.pipeline import Choices, SearchResponse
from search.retrieval import Filters
from search.tuning.evaluation.collections import EvaluationError
from search.tuning.evaluation.runner import (
    embedding_time,
    evaluator,
    problem_of,
    response_to,
)

# The naive context: as many of the first hits as fit, nothing merged and nothing around them.
NAIVE = 8
# Robertson & Zaragoza 2009.
K1, B = 1.2, 0.75
BUDGETS = (1000, 2500)  # and the profile's
PASSAGES = (1, 3, 5)  # and the profile's

Shape = tuple[int, int]  # tokens, passages
Baseline = Callable[[str, Context, Sequence[TermStatistic]], list[str]]


@dataclass(frozen=True, slots=True)
class ModeRow:
    """An answer in one mode. `is_right`: a gold answer stands in one of its sentences.

    `cited` citations, of which `valid`; `supported`: share of its checked sentences.
    """

    state: State
    is_right: bool
    sentences: int
    cited: int
    valid: int
    supported: float | None
    confidence: float | None
    milliseconds: float


@dataclass(slots=True)
class QuestionRow:
    """What was measured of a question; empty if the search rejects it."""

    question: Question
    kind: AnswerType = AnswerType.OTHER
    retrieval: float | None = None
    answerability: float = 0.0
    quotes: int = 0
    is_right: bool = False  # of all quotes
    first_is_right: bool = False  # of the best quote alone
    baselines: dict[str, bool] = field(default_factory=dict)
    held: dict[Shape, bool] = field(default_factory=dict)
    naive: bool = False
    tokens: int = 0
    extract_ms: float = 0.0
    answers: dict[Mode, ModeRow] = field(default_factory=dict)
    is_rejected: bool = False


def measure(
    questions: Sequence[Question],
    collection: Collection,
    modes: Sequence[Mode],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[QuestionRow]:
    """A row for each question. Raises EvaluationError if the embedding model does not answer."""
    parameters = answering.active_parameters()
    rows = []
    for done, question in enumerate(questions):
        progress(done, len(questions))
        rows.append(_row(question, collection, modes, parameters))
    return rows


def shapes(parameters: AnswerParameters) -> list[Shape]:
    """The contexts to compare: by budget, then by passages, the profile's own last."""
    budgets = [
        (each, parameters.max_passages) for each in BUDGETS if each < parameters.context_tokens
    ]
    passages = [
        (parameters.context_tokens, each) for each in PASSAGES if each < parameters.max_passages
    ]
    return [*budgets, *passages, (parameters.context_tokens, parameters.max_passages)]


def _row(
    question: Question, collection: Collection, modes: Sequence[Mode], parameters: AnswerParameters
) -> QuestionRow:
    row = QuestionRow(question)
    embedding = embedding_time(question.text)
    response = response_to(question.text, [collection.slug], Choices(), page_size=1)
    if response is None:
        row.is_rejected = True
        return row
    if problem := problem_of(response):
        raise EvaluationError(problem)
    context = context_of_all([response.hits], viewer=evaluator(), parameters=parameters)
    row.retrieval, row.tokens = response.confidence, context.tokens
    _extract(row, response, context, parameters)
    if question.is_answerable:
        _recall(row, response, context, parameters)
    for mode in modes:
        row.answers[mode] = _answer(question, collection, mode, embedding)
    return row


def _extract(
    row: QuestionRow, response: SearchResponse, context: Context, parameters: AnswerParameters
) -> None:
    question = row.question
    started = time.perf_counter()
    found = extracted(response, context, parameters)
    row.extract_ms = (time.perf_counter() - started) * 1000
    texts = _texts(found, context)
    row.kind, row.answerability, row.quotes = found.kind, found.answerability, len(texts)
    row.is_right = holds_any(texts, question.golds)
    row.first_is_right = holds_any(texts[:1], question.golds)
    for name, baseline in BASELINES.items():
        ranked = baseline(question.text, context, response.terms)
        row.baselines[name] = holds_any(ranked[:1], question.golds)
        if len(ranked) > 1:
            row.baselines[f"{name}, as many"] = holds_any(ranked[: len(texts)], question.golds)


def _texts(found: Extract, context: Context) -> list[str]:
    passages = {passage.number: passage.text for passage in context.passages}
    return [passages[quote.passage][quote.start : quote.end] for quote in found.quotes]


def _recall(
    row: QuestionRow, response: SearchResponse, context: Context, parameters: AnswerParameters
) -> None:
    golds = row.question.golds
    for budget, passages in shapes(parameters):
        shaped = replace(
            parameters,
            context_tokens=budget,
            max_passages=passages,
            min_passages=min(passages, parameters.min_passages),
        )
        is_own = (budget, passages) == (parameters.context_tokens, parameters.max_passages)
        made = (
            context
            if is_own
            else context_of_all([response.hits], viewer=evaluator(), parameters=shaped)
        )
        row.held[budget, passages] = holds(made, golds)
    row.naive = holds_any(_first_hits(response, context.tokens), golds)


def _first_hits(response: SearchResponse, budget: int) -> list[str]:
    """The texts of the first hits that fit the budget, in order of rank."""
    first = [hit.chunk_id for hit in response.hits[:NAIVE]]
    chunks = Chunk.objects.visible_to(evaluator()).in_bulk(first)
    texts = []
    for number in first:
        if number in chunks and budget >= chunks[number].tokens:
            budget -= chunks[number].tokens
            texts.append(chunks[number].text)
    return texts


def _answer(question: Question, collection: Collection, mode: Mode, embedding: float) -> ModeRow:
    asked = AnswerRequest(
        question.text,
        viewer=evaluator(),
        mode=mode,
        filters=Filters(collections=(collection.slug,)),
        channel="evaluation",
        is_recorded=False,
    )
    try:
        answered = answering.answer(asked)
    except (QueryTooLong, InvalidFilter, NothingAsked):
        return ModeRow(State.FAILED, False, 0, 0, 0, None, None, 0.0)
    citations = [each for sentence in answered.sentences for each in sentence.citations]
    has_text = answered.state is State.DONE
    return ModeRow(
        state=answered.state,
        is_right=has_text and holds_any((s.text for s in answered.sentences), question.golds),
        sentences=len(answered.sentences),
        cited=len(citations),
        valid=_valid(answered),
        supported=supported_share(answered.sentences),
        confidence=answered.confidence,
        milliseconds=answered.milliseconds + embedding,
    )


def _valid(answered: Answered) -> int:
    """The number of citations of passages that exist, can be read, and hold the quoted words."""
    cited = [each for each in answered.context.passages if each.number in answered.cited]
    wanted = {number for passage in cited for number in passage.chunk_ids}
    chunks = Chunk.objects.visible_to(evaluator()).filter(pk__in=wanted)
    readable = set(chunks.values_list("pk", flat=True)) if wanted else set()
    open_to = {each.number for each in cited if readable.issuperset(each.chunk_ids)}
    return sum(
        citation.passage in open_to and _stands(citation, sentence.text, answered)
        for sentence in answered.sentences
        for citation in sentence.citations
    )


def _stands(citation: Citation, sentence: str, answered: Answered) -> bool:
    """Whether the cited words are a part of the passage, and of a quote: the sentence itself."""
    passage = answered.context.passage(citation.passage)
    if passage is None:
        return False
    if not citation.end:
        return True
    words = " ".join(passage.text[citation.start : citation.end].split())
    is_quote = not answered.model
    return bool(words) and (not is_quote or words == " ".join(sentence.split()))


# The extractions that quotes must beat.


def first_sentence(question: str, context: Context, terms: Sequence[TermStatistic]) -> list[str]:
    """The first sentence of the first hit."""
    best = min(context.passages, key=lambda passage: passage.rank, default=None)
    return _sentences_of(best.text, best.language)[:1] if best else []


def bm25(question: str, context: Context, terms: Sequence[TermStatistic]) -> list[str]:
    """The context's sentences by BM25, best first: its words have the idf of the search."""
    texts = [
        text
        for passage in context.passages
        for text in _sentences_of(passage.text, passage.language)
    ]
    weights = question_weights(question, terms, texts)
    counts = [Counter(words(text)) for text in texts]
    usual = sum(held.total() for held in counts) / max(len(counts), 1)
    points = [_bm25(weights, held, usual) for held in counts]
    order = sorted(range(len(texts)), key=lambda place: -points[place])
    return [texts[place] for place in order]


BASELINES: Mapping[str, Baseline] = {"first sentence": first_sentence, "BM25": bm25}


def _sentences_of(text: str, language: str) -> list[str]:
    return [text[each.start : each.end] for each in sentences(text, language=language)]


def _bm25(weights: Mapping[str, float], held: Counter[str], usual: float) -> float:
    length = K1 * (1 - B + B * held.total() / max(usual, 1))
    total = 0.0
    for lexeme, weight in weights.items():
        times = sum(n for word, n in held.items() if says(word, lexeme))
        total += weight * times * (K1 + 1) / (times + length)
    return total
