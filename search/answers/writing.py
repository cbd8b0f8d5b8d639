"""The text of an answer: a model's, streamed, or quotes where there is none or it failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TypeVar

from django.utils import timezone
from django.utils.translation import gettext

from common.database import in_thread
from ingestion.lexical.languages import detect_language
from search.answers.domain import (
    Answered,
    AnswerParameters,
    Checked,
    Context,
    Event,
    Sources,
    State,
    Token,
)
from search.answers.drafting import Draft, quoted, said
from search.answers.extracting import Extract, extract, sentence_embedder
from search.answers.generating.client import Model
from search.answers.generating.judge import agreed, judge
from search.answers.generating.messages import answer_messages
from search.answers.work import Work, milliseconds_since
from search.engine import configuration
from search.errors import ModelUnavailable
from search.pipeline import SearchResponse

T = TypeVar("T")

# Characters of a draft from which on its sentences are checked in a thread of their own. A guess.
LONG = 2_000


async def written(work: Work) -> AsyncIterator[Event]:
    """The events of the model's answer, or of the quotes that stand in for it."""
    work.now = replace(
        work.now, text="", sentences=(), dropped=0, is_cut=False, state=State.RUNNING
    )
    if work.model is None or work.failure is not None:
        for event in await quotes(work):
            yield event
        return
    await work.begin()
    draft = Draft(work.now.context, work.parameters.refusal)
    began, before = time.perf_counter(), work.usage()
    try:
        async with aclosing(_pieces(work.model, work.now, work.parameters)) as pieces:
            async for piece in pieces:
                for event in _taken(work, draft, await _checked(draft, piece)):
                    yield event
        for event in _taken(work, draft, await off_loop(draft.close, len(draft.text))):
            yield event
        if not draft.text.strip():
            raise ModelUnavailable("empty", gettext("The language model gave no answer."))
    except ModelUnavailable as error:
        work.failure = error
    work.took("answer", work.model.name, began, before)
    if work.failure is None:
        _note_longest(work, draft)
        state = State.REFUSED if draft.is_refusal else State.DONE
        work.now = replace(work.now, state=state)
        for event in await _judged(work):
            yield event
    else:
        for event in await _broken(work, draft):
            yield event
    for event in work.new_steps():
        yield event


async def _checked(draft: Draft, piece: str) -> list[Event]:
    return await off_loop(partial(draft.feed, piece), len(draft.text) + len(piece))


async def off_loop(check: Callable[[], T], characters: int) -> T:
    """The result of `check` of so many characters.

    A long text is checked in another thread: the event loop serves all other streams meanwhile.
    """
    return check() if characters < LONG else await asyncio.to_thread(check)


async def _judged(work: Work) -> list[Event]:
    """The events of the sentences that the model, as a judge, refuses, if the profile asks it.

    A judge that fails changes nothing.
    """
    now, model = work.now, work.model
    if model is None or not work.parameters.judge or now.state is not State.DONE:
        return []
    began, before = time.perf_counter(), work.usage()
    try:
        verdicts = await judge(model, now.sentences, now.context)
    except ModelUnavailable:
        return []
    sentences = tuple(agreed(now.sentences, verdicts))
    work.now = replace(now, sentences=sentences)
    work.took("judge", "", began, before)
    return [
        Checked(index, sentence)
        for index, sentence in enumerate(sentences)
        if sentence != now.sentences[index]
    ]


def _note_longest(work: Work, draft: Draft) -> None:
    """Say that the answer ends before its end, if the model was not allowed to write more."""
    if work.model is None or work.model.finish != "length":
        return
    work.now = replace(work.now, is_cut=True)
    if draft.cut():
        _taken(work, draft, ())
        work.note(gettext("The answer was cut at the longest that the answer profile allows."))


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


def _taken(work: Work, draft: Draft, events: Sequence[Event]) -> Sequence[Event]:
    """The events, after the draft became the answer's text."""
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


async def _broken(work: Work, draft: Draft) -> list[Event]:
    """The events after a stream broke off: its whole sentences are kept, or quotes stand in."""
    was_shown = bool(draft.text)
    if not await off_loop(draft.cut, len(draft.text)):
        again: list[Event] = [Sources(work.now.context)] if was_shown else []
        return [*again, *await quotes(work)]
    _taken(work, draft, ())
    work.now = replace(work.now, state=State.DONE)
    work.cut_short()
    return []


async def quotes(work: Work) -> list[Event]:
    """The events of an answer by quotes; it says so where it stands in for a model."""
    began, before = time.perf_counter(), work.usage()
    response, context = work.responses[0], work.now.context
    found = await in_thread(lambda: extracted(response, context, work.parameters))
    now = quoted(replace(work.now, model="", dropped=0, is_cut=False), found.quotes)
    if now.text and found.answerability >= work.parameters.refuse_below:
        work.now = replace(now, state=State.DONE)
    else:
        refusal = work.parameters.refusal
        work.now = replace(now, state=State.REFUSED, text=refusal, sentences=())
    if now.first_token_ms is None:
        work.now = replace(work.now, first_token_ms=milliseconds_since(work.began))
    work.degrade()
    work.took("quotes", "", began, before)
    return [*said(work.now), *work.new_steps()]


def extracted(response: SearchResponse, context: Context, parameters: AnswerParameters) -> Extract:
    """The quotes that answer the question of a search, with the embedder of the active space."""
    return extract(
        response.query,
        context,
        embedder=sentence_embedder(configuration.current().space),
        most=parameters.quotes,
        terms=response.terms,
        confidence=response.confidence,
    )
