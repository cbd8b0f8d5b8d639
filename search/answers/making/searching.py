"""The searches of an answer: their texts, and the context of their results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import BooleanField, Count
from django.db.models.expressions import RawSQL

from common.database import in_thread, together
from ingestion.document_dates import COLUMNS, date_of
from ingestion.domain import BlockPlace, SectionPlace
from ingestion.lexical.languages import detect_language
from ingestion.models import Chunk, Document
from ingestion.models.visibility import Viewer
from search import pipeline
from search.answers.context import Selection, select
from search.answers.context_pieces import Piece
from search.answers.domain import AnswerParameters, Context, Mode, Step
from search.answers.generating.messages import (
    read_rewrite,
    read_searches,
    rewrite_messages,
    split_messages,
    standalone_messages,
)
from search.answers.making.draft import AnswerDraft
from search.answers.request import AnswerRequest
from search.domain import Hit, QueryClass
from search.errors import SearchError
from search.pipeline import SearchResponse
from search.presentation.notices import hiding_notes
from search.query.parse import clean_text

MOST_LANGUAGES = 3  # of a library, that a question may be searched for in; a guess


async def stand_alone(work: AnswerDraft) -> None:
    """Settle the text to search for: in a conversation, a question that stands alone."""
    if not work.earlier:
        return
    question = work.now.question
    began, before = time.perf_counter(), work.usage()
    reply = await work.ask(standalone_messages(question, work.earlier), "standalone")
    text = _short(read_rewrite(reply)) or work.rule_question
    if text and text != question:
        work.now = replace(work.now, searched_for=text)
        work.add_step("standalone", text, began, before)
    elif work.failure is not None:
        work.add_step("standalone", "", began, before)


async def parts(work: AnswerDraft) -> tuple[str, ...]:
    """The further texts to search for in thinking mode, at once; none in other modes.

    They come besides the question as asked, so that a bad split loses nothing (F4-07).
    """
    question, most = work.now.searched_for, work.parameters.max_searches
    if work.now.asked_mode is not Mode.THINKING or not work.has_model:
        return ()
    began, before = time.perf_counter(), work.usage()
    reply = await work.ask(split_messages(question, most - 1), "split") if most > 1 else ""
    texts = distinct((question, *map(_short, read_searches(reply, most))))[1:most]
    work.add_step("split", " · ".join(texts), began, before)
    if work.failure is not None:
        return ()
    work.now = replace(work.now, mode=Mode.THINKING)
    return texts


async def search(work: AnswerDraft, texts: Sequence[str]) -> None:
    """Search for all of the texts at once.

    Raises what `search.pipeline.search` raises on the question itself.
    """
    own = work.now.searched_for
    searches = [partial(_response, text, work.request, own=text == own) for text in texts]
    for response in await together(searches):
        if response is not None:
            work.responses.append(response)
            milliseconds = response.milliseconds.get("total", 0.0)
            step = Step("search", response.query.original, milliseconds)
            work.now = replace(work.now, steps=(*work.now.steps, step))
            work.mark_degraded(*(each.value for each in response.degraded))
    work.note(*await _notes_of(work.responses[0], work.request))
    known = [each.confidence for each in work.responses if each.confidence is not None]
    work.now = replace(work.now, retrieval_confidence=max(known, default=None))


async def _notes_of(response: SearchResponse, request: AnswerRequest) -> tuple[str, ...]:
    """The notes of the question's search, for everybody who may read the answer.

    Notes on hidden documents are for their editors, not for readers of a shared answer; notes on
    weights explain the order of the results, not the answer. A model answers in the language of the
    question: quotes alone have a note on it.
    """
    hidden = response.query.hidden
    secret = await in_thread(lambda: hiding_notes(hidden, request.viewer)) if hidden else ()
    others = (*response.settled.notes, response.language_gap)
    return tuple(each for each in response.sentences if each not in (*secret, *others))


async def widen(work: AnswerDraft) -> bool:
    """Search once more, for the question in other words, and read more of both rankings.

    Returns whether the context has changed.
    """
    work.is_widened = True
    question, passages = work.now.searched_for, work.now.context.passages
    began, before = time.perf_counter(), work.usage()
    languages = await in_thread(lambda: _languages(work.request.viewer))
    reply = await work.ask(rewrite_messages(question, languages), "rewrite")
    text = _short(read_rewrite(reply))
    work.add_step("rewrite", text, began, before)
    if not work.has_model:
        return False
    work.now = replace(work.now, mode=Mode.AUTO)
    if len(distinct((question, text))) > 1:
        await search(work, (text,))
    await gather(work)
    return work.now.context.passages != passages


def _languages(viewer: Viewer) -> list[str]:
    """The languages of most documents that the viewer may read."""
    rows = Document.objects.visible_to(viewer).exclude(language="").order_by()
    counted = rows.values("language").annotate(count=Count("pk")).order_by("-count", "language")
    return [row["language"] for row in counted[:MOST_LANGUAGES]]


async def is_foreign(work: AnswerDraft) -> bool:
    """Whether the search found little because the question is in none of the library's languages.

    False without a model to translate it.
    """
    if not (work.has_model and work.is_low):
        return False
    language = detect_language(work.now.searched_for)
    languages = await in_thread(lambda: _languages(work.request.viewer))
    return bool(language and languages) and language not in languages


async def gather(work: AnswerDraft) -> None:
    """Make one context of all searches so far; that of an instant answer within S4-13's limit.

    Its budget is of the model's tokens, as far as its server's counts tell them.
    """
    parameters, mode = work.parameters, work.now.mode
    if mode is Mode.INSTANT:
        parameters = limited(parameters, work.responses[0].classification.query_class)
    budget = parameters.context_tokens
    ratio = work.model.counted_tokens if work.model is not None else 1.0
    parameters = replace(parameters, context_tokens=int(budget / ratio))
    rankings, viewer = [response.hits for response in work.responses], work.request.viewer
    make = partial(context_of_all, rankings, viewer=viewer, parameters=parameters)
    context = work.with_currency(await in_thread(make))
    tokens = int(context.tokens * ratio)
    work.now = replace(work.now, context=replace(context, tokens=tokens, budget=budget))


def _short(text: str) -> str:
    """The text, cleaned, if a search takes one so long; otherwise empty."""
    clean = clean_text(text)
    return clean if len(clean) <= settings.SEARCH_QUERY_CHARS else ""


def _response(text: str, request: AnswerRequest, *, own: bool) -> SearchResponse | None:
    """The response to one search; None for a model's search that is no valid query."""
    if own and request.response is not None:
        return request.response
    try:
        return pipeline.search(
            text,
            viewer=request.viewer,
            filters=request.filters,
            choices=request.choices,
            page_size=0,  # the ranking alone: no result is shown
        )
    except SearchError:
        if own:
            raise
        return None


def limited(parameters: AnswerParameters, query_class: QueryClass) -> AnswerParameters:
    """The parameters of an instant answer: at most the class's limit of candidates (S4-13), and
    half the budget for a lookup: on a manual 2,500 tokens held the answers to 40 of 40 questions.
    """
    most = min(parameters.candidates, query_class.suggested_limit)
    budget = parameters.context_tokens // (2 if query_class is QueryClass.LOOKUP else 1)
    return replace(parameters, candidates=most, context_tokens=budget)


def distinct(questions: Sequence[str]) -> tuple[str, ...]:
    """The questions without empty ones and repetitions, which may differ in case and spaces."""
    first = {" ".join(each.casefold().split()): each for each in reversed(questions)}
    spellings = set(first.values())
    return tuple(dict.fromkeys(each for each in questions if each in spellings and each.strip()))


# Neighbours that are read on each side of a passage: of 64 that joined one, 2 were the third, none
# further away.
REACH = 4
_SAME = (
    "ordinal", "page", "collection_id", "start", "end", "text", "kind", "original", "content_hash",
    "signature",
)  # fmt: skip
_OF_CHUNK = (*_SAME, "pk", "version_id", "heading_path", "sections", "layout")
_OF_DOCUMENT = (
    "document_id", "version__completeness", "version__media_type",
    *(f"document__{x}" for x in ("collection__name", "collection__slug", "public_id", "language")),
    *COLUMNS,
)  # fmt: skip


def context_of_all(
    rankings: Sequence[Sequence[Hit]], *, viewer: Viewer, parameters: AnswerParameters
) -> Context:
    """The one context of several rankings, as of a question's parts; one query, two to grow it.

    `parameters.candidates` of each ranking are merged by `merged`; a passage's `rank` is its place
    among all of them.
    """
    hits = merged([ranking[: parameters.candidates] for ranking in rankings])
    if not hits:
        return Context(budget=parameters.context_tokens)
    readable: Any = Chunk.objects.visible_to(viewer).order_by()
    rows = readable.filter(pk__in=list(hits)).values(*_OF_CHUNK, *_OF_DOCUMENT)
    selection = select([_piece(row, hits[row["pk"]]) for row in rows], parameters)
    if selection.may_grow:
        of_version = {run.first.version: run.first for run in selection.runs}
        near = readable.filter(_around(selection)).values(*_OF_CHUNK)
        selection = selection.grown(_neighbour(row, of_version[row["version_id"]]) for row in near)
    return selection.context()


def merged(rankings: Sequence[Sequence[Hit]]) -> dict[int, Hit]:
    """The best hit of each chunk in several rankings, by its id, ranked among all of them.

    Ordered by the best rank of each chunk, so that the first hit of each part of a question comes
    before the second of any: the parts ask for different passages, while reciprocal rank fusion
    would prefer those that fit all parts a little. The sum of the reciprocal ranks decides between
    equal ranks, then the order of the rankings.
    """
    best: dict[int, Hit] = {}
    sums: dict[int, float] = {}
    for ranking in rankings:
        for hit in ranking:
            sums[hit.chunk_id] = sums.get(hit.chunk_id, 0.0) + 1 / hit.rank
            earlier = best.get(hit.chunk_id)
            if earlier is None or hit.rank < earlier.rank:
                best[hit.chunk_id] = hit
    ordered = sorted(best, key=lambda chunk: (best[chunk].rank, -sums[chunk]))
    return {chunk: replace(best[chunk], rank=rank) for rank, chunk in enumerate(ordered, start=1)}


def _around(selection: Selection) -> RawSQL:
    """The condition for the neighbours of the passages, which Django need not compile."""
    places = [
        (run.first.version, ordinal)
        for run in selection.runs
        for ordinal in range(run.first.ordinal - REACH, run.last.ordinal + REACH + 1)
    ]
    return RawSQL(
        "(ingestion_chunk.version_id, ordinal) IN (SELECT * FROM unnest(%s::bigint[], %s::int[]))",
        tuple(map(list, zip(*places, strict=True))),
        BooleanField(),
    )


def _piece(row: Mapping[str, Any], hit: Hit) -> Piece:
    candidate = hit.candidate
    match = candidate.identifier
    return Piece(
        chunk_id=row["pk"],
        document=row["document_id"],
        document_id=str(row["document__public_id"]),
        version=row["version_id"],
        title=row["document__title"],
        collection=row["document__collection__name"],
        collection_slug=row["document__collection__slug"],
        language=row["document__language"],
        media_type=row["version__media_type"],
        date=date_of(row),
        score=hit.score,
        rank=hit.rank,
        form=match.form if match else "",
        is_pinned=candidate.pin is not None,
        completeness=row["version__completeness"],
        **_of_chunk(row),
    )


def _neighbour(row: Mapping[str, Any], other: Piece) -> Piece:
    """The piece of a chunk that is no candidate, of the same version as another piece."""
    own = _of_chunk(row)
    return replace(other, chunk_id=row["pk"], score=0.0, rank=0, form="", is_pinned=False, **own)


def _of_chunk(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in _SAME},
        "heading_path": tuple(row["heading_path"]),
        "sections": tuple(SectionPlace(*place) for place in row["sections"]),
        "layout": tuple(BlockPlace(*place) for place in row["layout"]),
    }
