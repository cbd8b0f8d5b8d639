"""A: an answer, end to end. Read this first.

    AnswerRequest -> question -> SearchResponse -> Context -> sentences, checked -> its row
              searching     searching        context   writing     drafting    recording

`events` is the stream, `answer` its end; the page, the API and agents call nothing else.
`making.modes` has the order of these steps. Everything is read as the asker: what they may not
read is neither in the context nor in the answer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import cast

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext

from common import UserError
from common.accounts import quotas
from common.database import at_once, completed, in_thread
from search.answers import recording
from search.answers.budgets import Payer
from search.answers.domain import Answered, AnswerParameters, Done, Event, Failed, Mode, State
from search.answers.earlier_questions import read_earlier_questions
from search.answers.generating import server
from search.answers.generating.language_model import model_for
from search.answers.generating.server import configured
from search.answers.making import modes
from search.answers.making.draft import AnswerDraft
from search.answers.models import Answer, AnswerSettings, Thread
from search.answers.request import AnswerRequest
from search.domain import QueryClass
from search.engine import Choices
from search.errors import AnswerFailed, BudgetExceeded, Busy, NotPermitted, ThreadFull
from search.query.parse import clean_text

logger = logging.getLogger(__name__)

# The answers of a thread, which its pages and exports show whole. A guess.
MOST_ANSWERS = 100
# Web threads that may wait for whole answers of a model; the others keep serving pages.
waiting = threading.BoundedSemaphore(max(1, settings.WEB_THREADS // 2))
RETRY_SECONDS = 10  # a guess: an answer takes 5 to 20


def answer(request: AnswerRequest) -> Answered:
    """The complete answer. Raises AnswerFailed if it has none, and what `final_event` raises."""
    end = final_event(request)
    if isinstance(end, Failed):
        raise AnswerFailed(end.code, end.message)
    return end.answer


def final_event(request: AnswerRequest) -> Done | Failed:
    """The last event of the answer, for a view that waits for the whole answer.

    Raises Busy, because only some of the web server's threads may wait for a language model, and
    what `events` raises.
    """
    if request.is_extractive:
        return at_once(last_event(request))
    if configured() is None:
        return async_to_sync(last_event)(request)
    if not waiting.acquire(blocking=False):
        message = gettext("Too many answers are being written. Ask again in %(wait)d s.")
        raise Busy(message % {"wait": RETRY_SECONDS}, RETRY_SECONDS)
    try:
        return async_to_sync(last_event)(request)
    finally:
        waiting.release()


async def last_event(request: AnswerRequest) -> Done | Failed:
    """The last event of the answer. Raises what `events` raises."""
    last: Event | None = None
    async with aclosing(cast("AsyncGenerator[Event]", events(request))) as stream:
        async for event in stream:
            last = event
    assert isinstance(last, Done | Failed)
    return last


async def events(request: AnswerRequest) -> AsyncIterator[Event]:
    """The events of an answer as they come; see `domain.Event`.

    Raises what `search.pipeline.search` raises, and NotPermitted for a thread of somebody else,
    before the first event; after Begun, what a search raises becomes Failed. Close
    the iterator (`contextlib.aclosing`) when the reader leaves: that closes the model's request,
    and records the answer as stopped.
    """
    work = await in_thread(partial(_start, request))
    has_sent = has_ended = False
    try:
        async with aclosing(cast("AsyncGenerator[Event]", modes.events_of(work))) as stream:
            async for event in stream:
                has_sent = True
                yield event
        has_ended = True
        started = await work.is_stored()
        final = await completed(in_thread(partial(_recorded, work, started)))
        yield Done(final)
    except (GeneratorExit, asyncio.CancelledError):
        if not has_ended:
            await _record_end(work, State.STOPPED)
        raise
    except Exception as error:
        code = error.code if isinstance(error, UserError) else "internal"
        if has_sent or await work.is_stored():
            await _record_end(work, State.FAILED, code)
        if not has_sent:
            raise
        yield Failed(*code_and_message(error), work.now)


async def _record_end(work: AnswerDraft, state: State, error: str = "") -> None:
    """Record an answer that ended early, even if the task is cancelled once more meanwhile."""
    if not work.request.is_recorded:
        return
    stopped = replace(work.charged(), state=state, error=error)

    async def finished() -> None:
        finish = partial(recording.finish, stopped, work.request, started=await work.is_stored())
        await in_thread(finish)

    try:
        await completed(finished())
    except DatabaseError:
        logger.exception("The end of answer %s could not be stored", stopped.id)


def code_and_message(error: Exception) -> tuple[str, str]:
    """The code and the sentence for a reader. An unexpected error is logged, and not shown."""
    if isinstance(error, UserError):
        return error.code, str(error)
    logger.error("An answer failed", exc_info=error)
    return "internal", gettext(
        "The answer could not be completed. Ask again; if it fails again, tell an administrator."
    )


def _recorded(work: AnswerDraft, started: bool) -> Answered:
    """Store the finished answer and return it as its asker may see it.

    A model may write for minutes: an answer whose sources became unreadable meanwhile is withheld.
    """
    now, request = work.now, work.request
    citations = [each for sentence in now.sentences for each in sentence.citations]
    now = work.now = replace(now, context=now.context.named_by(citations))
    if request.is_recorded:
        recording.finish(now, request, started=started)
    if work.model is not None and not recording.are_readable(now.context, request.viewer):
        return recording.withheld(now)
    return now


def _start(request: AnswerRequest) -> AnswerDraft:
    """A new answer in the making: its parameters, its model and its earlier questions."""
    thread = request.thread
    viewer = request.viewer
    if request.is_recorded:
        quotas.spend(viewer, quotas.ANSWERS)
    if thread is not None and not Thread.objects.owned_by(viewer).filter(pk=thread.pk).exists():
        raise NotPermitted(gettext("Only the owner can add questions. Start your own thread."))
    if thread is not None and Answer.objects.filter(thread=thread.pk).count() >= MOST_ANSWERS:
        text = gettext("This thread has %(count)d answers, the most that fit. Begin another one.")
        raise ThreadFull(text % {"count": MOST_ANSWERS})
    parameters = request.parameters or active_parameters()
    mode = request.mode or parameters.default_mode
    now = Answered(
        id=str(uuid.uuid4()),
        question=clean_text(request.question),
        searched_for=clean_text(request.searched_for or request.question),
        asked_mode=mode,
        mode=Mode.INSTANT,
        thread=str(thread.public_id) if thread is not None else "",
    )
    work = AnswerDraft(replace(request, parameters=parameters), parameters, None, now)
    try:
        if not request.is_extractive:
            work.model = model_for(parameters, Payer(request.user, request.budget_key, now.id))
    except BudgetExceeded as error:
        work.failure = error
    read_earlier_questions(work)
    return work


def warm_up() -> None:
    """Answer a question without a viewer, to load everything that the first reader's question
    needs.
    """
    server.warm_up()
    question = AnswerRequest(
        "What is this about?",
        viewer=None,
        parameters=replace(active_parameters(), refuse_below=0.0),
        choices=Choices(query_class=QueryClass.GENERAL),  # forced: no metric counts it
        is_recorded=False,
        is_extractive=True,
    )
    with suppress(UserError, DatabaseError):
        answer(question)


def active_parameters() -> AnswerParameters:
    """The parameters of the answer settings; the shipped ones without a row."""
    return (AnswerSettings.objects.first() or AnswerSettings()).as_parameters()
