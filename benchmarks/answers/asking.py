"""One judged question: its contexts, its quotes, and its answer in each mode."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.answers.figures import holds, holds_any
from benchmarks.answers.questions import Question
from benchmarks.judged.sections import BETWEEN
from ingestion.models import Chunk, Document
from search.answers import answering
from search.answers.as_json import supported_share
from search.answers.domain import (
    Answered,
    AnswerParameters,
    Citation,
    Context,
    Mode,
    Passage,
    State,
)
from search.answers.making.searching import context_of_all
from search.answers.making.writing import extracted
from search.answers.request import AnswerRequest
from search.errors import EmptyQuestion, InvalidFilter, QueryTooLong
from search.pipeline import Choices, SearchResponse
from search.retrieval import Filters
from search.tuning.evaluation.beir import EvaluationError
from search.tuning.evaluation.profile_runs import embedding_time, evaluator, problem_in, response_to

# The naive context: as many of the first hits as fit, nothing merged and nothing around them.
NAIVE = 8
BUDGETS = (1000, 2500)  # and the profile's
PASSAGES = (1, 3, 5)  # and the profile's

Shape = tuple[int, int]  # tokens, passages


@dataclass(frozen=True, slots=True)
class ModeRow:
    """An answer in one mode.

    `is_right`: one of its pieces, or of a model's sentences, answers. `at_a_glance`: the first
    piece does. `is_sure`: it is called an answer. `valid` counts the valid ones among the `cited`
    citations; `supported` is the share of its checked sentences.
    """

    state: State
    is_right: bool
    at_a_glance: bool
    is_sure: bool
    sentences: int
    cited: int
    valid: int
    supported: float | None
    confidence: float | None
    milliseconds: float


@dataclass(slots=True)
class QuestionRow:
    """The measurements of a question; empty if the search rejects it.

    `has_gold` says for each shape of the context, (tokens, passages), whether it contains a gold
    answer.
    """

    question: Question
    retrieval: float | None = None
    answerability: float = 0.0
    quotes: int = 0
    is_right: bool = False  # one of the pieces
    has_gold: dict[Shape, bool] = field(default_factory=dict)
    naive: bool = False
    tokens: int = 0
    extract_ms: float = 0.0
    answers: dict[Mode, ModeRow] = field(default_factory=dict)
    is_rejected: bool = False


def measure(
    questions: Sequence[Question],
    slug: str,
    modes: Sequence[Mode],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[QuestionRow]:
    """A row for each question. Raises EvaluationError if the embedding model does not answer."""
    parameters = answering.active_parameters()
    rows = []
    for done, question in enumerate(questions):
        progress(done, len(questions))
        rows.append(_row(question, slug, modes, parameters))
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
    question: Question, slug: str, modes: Sequence[Mode], parameters: AnswerParameters
) -> QuestionRow:
    row = QuestionRow(question)
    embedding = embedding_time(question.text)
    response = response_to(question.text, [slug], Choices(), page_size=1)
    if response is None:
        row.is_rejected = True
        return row
    if problem := problem_in(response.degraded):
        raise EvaluationError(problem)
    context = context_of_all([response.hits], viewer=evaluator(), parameters=parameters)
    row.retrieval, row.tokens = response.confidence, context.tokens
    _extract(row, response, context, parameters)
    if question.golds:
        _recall(row, response, context, parameters)
    for mode in modes:
        row.answers[mode] = _answer(question, slug, mode, embedding)
    return row


def _extract(
    row: QuestionRow, response: SearchResponse, context: Context, parameters: AnswerParameters
) -> None:
    started = time.process_time()  # of all threads: other work on the machine does not count
    extract = extracted(response, context, parameters)
    row.extract_ms = (time.process_time() - started) * 1000
    row.answerability, row.quotes = extract.answerability, len(extract.quotes)
    pieces = [
        (context.passage(quote.passage), [(part.start, part.end) for part in quote.parts])
        for quote in extract.quotes
    ]
    row.is_right = any(_answers(passage, spans, row.question) for passage, spans in pieces)


def _answers(passage: Passage | None, spans: Sequence[tuple[int, int]], question: Question) -> bool:
    """Whether a piece contains a gold answer, or is from a section that does."""
    if passage is None:
        return False
    if question.sections:
        source = Document.objects.values_list("source", flat=True).get(pk=passage.document)
        path = passage.path_at(spans[0][0])
        above = path[path[:1] == (passage.title,) :]
        names = {f"{source}#{BETWEEN.join(above[:depth])}" for depth in range(len(above) + 1)}
        return bool(question.sections & ({source, *names} - ({f"{source}#"} if above else set())))
    return holds_any([" ".join(passage.text[start:end] for start, end in spans)], question.golds)


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
        row.has_gold[budget, passages] = holds(made, golds)
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


def _answer(question: Question, slug: str, mode: Mode, embedding: float) -> ModeRow:
    request = AnswerRequest(
        question.text,
        viewer=evaluator(),
        mode=mode,
        filters=Filters(collections=(slug,)),
        channel="evaluation",
        is_recorded=False,
    )
    try:
        answered = answering.answer(request)
    except (QueryTooLong, InvalidFilter, EmptyQuestion):
        return ModeRow(State.FAILED, False, False, False, 0, 0, 0, None, None, 0.0)
    citations = [each for sentence in answered.sentences for each in sentence.citations]
    has_text = answered.state is State.DONE
    pieces = _pieces(answered, question) if has_text and not answered.model else []
    return ModeRow(
        state=answered.state,
        is_right=any(pieces)
        or (has_text and holds_any((s.text for s in answered.sentences), question.golds)),
        at_a_glance=pieces[:1] == [True],
        is_sure=has_text and answered.is_sure,
        sentences=len(answered.sentences),
        cited=len(citations),
        valid=_valid(answered),
        supported=supported_share(answered.sentences),
        confidence=answered.confidence,
        milliseconds=answered.milliseconds + embedding,
    )


def _pieces(answered: Answered, question: Question) -> list[bool]:
    """Whether each piece answers, in the order of reading; the citations of one passage are a
    piece.
    """
    spans: dict[int, list[tuple[int, int]]] = {}
    for sentence in answered.sentences:
        for each in sentence.citations:
            spans.setdefault(each.passage, []).append((each.start, each.end))
    return [
        _answers(answered.context.passage(number), places, question)
        for number, places in spans.items()
    ]


def _valid(answered: Answered) -> int:
    """The number of citations of passages that exist, can be read, and hold the quoted words."""
    cited = [each for each in answered.context.passages if each.number in answered.cited]
    chunk_ids = {number for passage in cited for number in passage.chunk_ids}
    chunks = Chunk.objects.visible_to(evaluator()).filter(pk__in=chunk_ids)
    readable = set(chunks.values_list("pk", flat=True)) if chunk_ids else set()
    open_to = {each.number for each in cited if readable.issuperset(each.chunk_ids)}
    return sum(
        citation.passage in open_to and _stands(citation, sentence.text, answered)
        for sentence in answered.sentences
        for citation in sentence.citations
    )


def _stands(citation: Citation, sentence: str, answered: Answered) -> bool:
    """Whether the cited words are in the passage and, for a quote, are the sentence itself."""
    passage = answered.context.passage(citation.passage)
    if passage is None:
        return False
    if not citation.end:
        return True
    words = " ".join(passage.text[citation.start : citation.end].split())
    is_quote = not answered.model
    return bool(words) and (not is_quote or words == " ".join(sentence.split()))
