"""The text of an answer: a model's, streamed, or quotes where there is none or it failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TypeVar

from django.utils import timezone
from django.utils.translation import gettext

from common.database import in_thread
from ingestion.lexical.languages import detect_language
from search.answers.domain import (
    Answered,
    AnswerParameters,
    Context,
    Event,
    Sources,
    State,
    Token,
)
from search.answers.generating.language_model import Model
from search.answers.generating.messages import answer_messages
from search.answers.making.draft import AnswerDraft, milliseconds_since
from search.answers.making.drafting import Draft, replay
from search.answers.making.quoting import quoted
from search.answers.quote_pieces import Quote, quote_of
from search.answers.quotes import Extract, extract
from search.engine import configuration
from search.errors import ModelUnavailable
from search.pipeline import SearchResponse
from search.presentation.marking import sentence_embedder

T = TypeVar("T")

# Characters of a draft from which on its sentences are checked in a thread of their own. A guess.
LONG = 2_000
# A search in a language that the model does not know is so much less confident: xquad's questions
# in German, of the same paragraphs as the English ones, have .55 in place of .82.
UNFAMILIAR = 0.27


async def write_answer(work: AnswerDraft) -> AsyncIterator[Event]:
    """Yield the events of the model's answer, or of the quotes that replace it."""
    work.now = replace(
        work.now, text="", sentences=(), dropped=0, is_cut=False, state=State.RUNNING
    )
    if work.model is None or work.failure is not None:
        for event in await write_quotes(work):
            yield event
        return
    await work.begin()
    draft = Draft(work.now.context, work.parameters.refusal, work.now.searched_for)
    began, before = time.perf_counter(), work.usage()
    try:
        async with aclosing(_pieces(work.model, work.now, work.parameters)) as pieces:
            async for piece in pieces:
                for event in _with_draft(work, draft, await _checked(draft, piece)):
                    yield event
                if draft.is_repeating:
                    draft.end_repetition()
                    break
        for event in await _closed(work, draft):
            yield event
        if not draft.has_words:
            raise ModelUnavailable("empty", gettext("The language model gave no answer."))
    except ModelUnavailable as error:
        work.failure = error
    work.add_step("answer", work.model.name, began, before)
    if work.failure is None:
        _mark_cut(work, draft)
        state = State.REFUSED if draft.is_refusal else State.DONE
        work.now = replace(work.now, state=state)
    else:
        for event in await _end_early(work, draft):
            yield event
    for event in work.new_steps():
        yield event


async def _closed(work: AnswerDraft, draft: Draft) -> list[Event]:
    """The events at the end of a draft; the whole text again if it got citations."""
    events = _with_draft(work, draft, await off_loop(draft.close, len(draft.text)))
    again = [Sources(work.now.context), *replay(work.now)] if draft.has_new_markers else []
    return [*events, *again]


async def _checked(draft: Draft, piece: str) -> list[Event]:
    return await off_loop(partial(draft.feed, piece), len(draft.text) + len(piece))


async def off_loop(check: Callable[[], T], characters: int) -> T:
    """Return the result of `check`, in a thread for a long text so that other streams go on."""
    return check() if characters < LONG else await asyncio.to_thread(check)


def _mark_cut(work: AnswerDraft, draft: Draft) -> None:
    """Note that the text is incomplete, if the model reached its limit of tokens."""
    if work.model is None or work.model.finish != "length":
        return
    work.now = replace(work.now, is_cut=True)
    has_sentence = draft.cut()
    _with_draft(work, draft, ())
    if has_sentence:
        work.note(gettext("The answer was cut at the length that the answer settings allow."))


def _pieces(model: Model, now: Answered, parameters: AnswerParameters) -> AsyncGenerator[str]:
    """The model's stream. Closing it closes the request."""
    messages = answer_messages(
        now.searched_for,
        now.context,
        parameters,
        language=detect_language(now.searched_for),
        today=timezone.localdate(),
    )
    return model.stream(messages, purpose="answer")


def _with_draft(work: AnswerDraft, draft: Draft, events: Sequence[Event]) -> Sequence[Event]:
    """The events; before, the draft's text becomes the answer's."""
    first = work.now.first_token_ms
    if first is None and any(isinstance(event, Token) for event in events):
        first = milliseconds_since(work.began)
    work.now = replace(
        work.now,
        model=work.model.name if work.model is not None else "",
        text=draft.text,
        sentences=draft.sentences,
        dropped=draft.dropped,
        first_token_ms=first,
    )
    return events


async def _end_early(work: AnswerDraft, draft: Draft) -> list[Event]:
    """The events after a broken stream: its complete sentences stay, or quotes replace it."""
    if not await off_loop(draft.cut, len(draft.text)):
        return await write_quotes(work)
    _with_draft(work, draft, ())
    work.now = replace(work.now, state=State.DONE)
    work.mark_cut_short()
    return []


async def write_quotes(work: AnswerDraft) -> list[Event]:
    """The events of an answer by pieces of passages, with a note if it replaces a model's.

    Quotes are refused below the square root of `refuse_below` (.45 for .2).
    """
    began, before = time.perf_counter(), work.usage()
    response, context = work.responses[0], work.now.context
    extraction = await in_thread(lambda: extracted(response, context, work.parameters))
    sure = extraction.answerability
    quotes = with_both_sides(extraction.quotes, context)
    now = replace(work.now, model="", dropped=0, is_cut=False, confidence=sure)
    work.note(*filter(None, [response.language_gap]))
    work.now = now = quoted(now, quotes, is_marked=extraction.is_marked)
    if now.text and sure >= work.parameters.refuse_below**0.5:
        work.now = replace(now, state=State.DONE)
    else:
        refusal = work.parameters.refusal
        work.now = replace(now, state=State.REFUSED, text=refusal, sentences=())
    if now.first_token_ms is None:
        work.now = replace(work.now, first_token_ms=milliseconds_since(work.began))
    work.degrade()
    work.add_step("quotes", "", began, before)
    return [Sources(work.now.context), *replay(work.now), *work.new_steps()]


def with_both_sides(quotes: Sequence[Quote], context: Context) -> tuple[Quote, ...]:
    """The quotes; if another document gives another figure for what the first one says, the pieces
    of both come first, that of the newer document before the other.
    """
    if not quotes:
        return ()
    first = quotes[0]
    # Of two tables the row that answers, rather than another one of the piece.
    spans = ((first.marked.start, first.marked.end), (first.parts[0].start, first.parts[-1].end))
    for (start, end), conflict in product(spans, context.conflicts):
        sides = {each.passage.number: each for each in conflict.sides}
        own = sides.pop(first.passage, None)
        if own and start < own.end and own.start < end:
            ((number, other),) = sides.items()
            both = {first.passage: first, number: quote_of(other.passage, other.start, first.score)}
            rest = [each for each in quotes if each.passage not in both]
            return (*(both[each.passage.number] for each in conflict.sides), *rest)
    return tuple(quotes)


def extracted(response: SearchResponse, context: Context, parameters: AnswerParameters) -> Extract:
    """The quotes for the question of a search, with the embedder of its space if that knows the
    question's language.
    """
    configured = response.configuration or configuration.current()
    is_foreign = bool(response.unfamiliar_language)
    confidence = response.confidence
    if is_foreign and confidence is not None:
        confidence = min(confidence + UNFAMILIAR, 1.0)
    return extract(
        response.query,
        context,
        embedder=None if is_foreign else sentence_embedder(configured.space),
        most=parameters.quotes,
        terms=response.terms,
        confidence=confidence,
        patterns=configured.patterns,
    )
