"""How an answer is made in each mode: the searches, the calls of the model, and their order.

instant   search -> context -> quotes, or one call of the model; a question in a language that the
          library does not have is translated and searched for again
auto      instant; where the retrieval or the answer is worth little, once: one more search, for the
          question in other words, and an answer from both
thinking  search -> the question in parts, searched at once -> one context -> answer -> one repair

Without a model every mode is instant. Where the model fails before it wrote a sentence, quotes
stand in.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import cast

from django.utils.translation import gettext

from common.database import in_thread
from search.answers import recording
from search.answers.as_json import disagreements, incomplete, not_current
from search.answers.checking.verdicts import is_baseless
from search.answers.domain import Answered, Begun, Event, Mode, Sources, State, Token
from search.answers.generating.messages import repair_messages
from search.answers.making.draft import AnswerDraft
from search.answers.making.drafting import Draft, replay, unsupported
from search.answers.making.listing import write_list
from search.answers.making.searching import gather, is_foreign, parts, search, stand_alone, widen
from search.answers.making.writing import off_loop, write_answer, write_quotes
from search.answers.question_forms import Form, form_of

ESCALATE_BELOW = 0.3  # S4-15


async def events_of(work: AnswerDraft) -> AsyncIterator[Event]:
    """The events of the answer but the last; raises what a search raises before the first.

    An event comes before any call of the model: until then the request holds one of the web
    server's threads.
    """
    if form_of(work.now.question) is Form.COURTESY:
        text = gettext("Ask a question about the documents.")
        work.now = replace(work.charged(), state=State.REFUSED, text=text)
        yield Sources(work.now.context)
        yield Token(text)
        return
    if work.earlier and work.has_model:
        yield Begun()
    await stand_alone(work)
    await search(work, (work.now.searched_for,))
    for event in work.new_steps():
        yield event
    if further := await parts(work):
        for event in work.new_steps():
            yield event
        await search(work, further)
    work.is_foreign = await is_foreign(work)
    if work.is_foreign or _may_escalate(work, work.now.retrieval_confidence):
        await widen(work)
    if not work.is_widened or work.failure is not None:
        await gather(work)
    for event in work.new_steps():
        yield event
    yield Sources(work.now.context)
    if _asks_for_documents(work):
        for event in await write_list(work):
            yield event
    elif work.fits_nothing:
        work.now = replace(work.now, state=State.REFUSED, text=work.parameters.refusal)
        work.degrade()
        yield Token(work.now.text)
    else:
        for part in (write_answer, _try_again, _repair, _quote_instead):
            async with aclosing(cast("AsyncGenerator[Event]", part(work))) as events:
                async for event in events:
                    yield event
    work.now = replace(work.charged(), confidence=work.worth)
    _refuse_in_other_words(work)
    for event in _abstain(work):
        yield event
    _suggest(work)
    _name_gaps(work)


def _asks_for_documents(work: AnswerDraft) -> bool:
    """Whether a list or a number of documents answers; a model makes lists of its own."""
    form = form_of(work.now.question)
    return form is Form.COUNT or (form is Form.LIST and not work.has_model)


def _name_gaps(work: AnswerDraft) -> None:
    """Say which cited documents disagree, are not current or incomplete, by the numbers of their
    passages.
    """
    work.note(*disagreements(work.now), *not_current(work.now), *incomplete(work.now))


def _refuse_in_other_words(work: AnswerDraft) -> None:
    """Mark an answer as refused if the model refused in other words than the given ones; its text
    stays.
    """
    if work.refuses_in_other_words:
        work.now = replace(work.now, state=State.REFUSED, sentences=())


def _abstain(work: AnswerDraft) -> Iterator[Event]:
    """Refuse an answer of a lower confidence than its asker accepts; yield what replaces it."""
    below = work.request.abstain_below
    if below is None or work.now.state is not State.DONE or (work.now.confidence or 0.0) >= below:
        return
    text = work.parameters.refusal
    work.now = replace(work.now, state=State.REFUSED, text=text, sentences=())
    work.note(gettext("Nothing is returned: the confidence is below %(below)g.") % {"below": below})
    yield from (Sources(work.now.context), Token(text))


def _suggest(work: AnswerDraft) -> None:
    """Suggest the corrected spelling of a question that is refused, if there is one."""
    if work.now.state is State.REFUSED and (suggestion := work.responses[0].suggestion):
        work.note(gettext("Did you mean “%(question)s”?") % {"question": suggestion})


def _may_escalate(work: AnswerDraft, confidence: float | None) -> bool:
    """Whether the auto mode may try again: once, and not after a failure of the model.

    Nor after an answer that was cut at its longest: the next one would cost as much and be cut,
    too.
    """
    if work.now.asked_mode is not Mode.AUTO or work.is_widened or work.now.is_cut:
        return False
    return escalates(confidence, work.has_model, work.parameters.escalate_below)


def escalates(confidence: float | None, has_model: bool, below: float = ESCALATE_BELOW) -> bool:
    """Whether an answer of this confidence is tried again (S4-15).

    True strictly below the threshold, with a model; False for an unknown confidence.
    """
    return has_model and confidence is not None and confidence < below


async def _try_again(work: AnswerDraft) -> AsyncIterator[Event]:
    """Yield the events of a second answer, where the first is worth too little (S4-15).

    The first one is restored unless the second is worth more. A model's refusal is worth nothing.
    """
    first, worth = work.now, work.worth
    if not _may_escalate(work, 0.0 if first.state is State.REFUSED else worth):
        return
    has_more = await widen(work)
    for event in work.new_steps():
        yield event
    if not has_more:
        _restore(work, first)
        return
    yield Sources(work.now.context)
    async with aclosing(cast("AsyncGenerator[Event]", write_answer(work))) as events:
        async for event in events:
            yield event
    if not _is_better(work, first, worth):
        _restore(work, first)
        yield Sources(first.context)
        for event in replay(first):
            yield event


def _is_better(work: AnswerDraft, first: Answered, worth: float | None) -> bool:
    if first.state is State.REFUSED:
        return work.failure is None
    mine = work.worth
    return work.is_whole and mine is not None and worth is not None and mine > worth


def _restore(work: AnswerDraft, first: Answered) -> None:
    """Return to the first answer, with the steps and the cost of both."""
    work.failure = None
    work.now = replace(first, mode=work.now.mode, steps=work.now.steps)


async def _repair(work: AnswerDraft) -> AsyncIterator[Event]:
    """Yield the events of the repaired answer, in thinking mode; none if it needs no repair.

    One call rewrites or removes the unsupported sentences. Its answer replaces the first one only
    if fewer of its sentences are unsupported, and some are supported.
    """
    now, wrong = work.now, unsupported(work.now.sentences)
    if now.mode is not Mode.THINKING or not wrong or not (work.is_whole and work.has_model):
        return
    # The model is sent the passages again: only if the asker may still read them.
    if not await in_thread(lambda: recording.are_readable(now.context, work.request.viewer)):
        return
    began, before = time.perf_counter(), work.usage()
    listed = [(each.text, each.reasons) for each in wrong]
    messages = repair_messages(now.text, listed, now.context, work.parameters)
    reply = await work.ask(messages, "repair", work.parameters.max_tokens)
    if work.failure is not None:
        note = gettext("The unsupported sentences could not be corrected. %(reason)s")
        work.note(note % {"reason": work.failure})
    work.failure = None  # the first answer stands
    draft = Draft(now.context, work.parameters.refusal, now.searched_for)
    await off_loop(lambda: (draft.feed(reply), draft.close()), len(reply))
    work.add_step("repair", "", began, before)
    for event in work.new_steps():
        yield event
    left = len(unsupported(draft.sentences))
    if left < len(wrong) and left < len(draft.sentences):
        dropped = now.dropped + draft.dropped
        work.now = replace(work.now, text=draft.text, sentences=draft.sentences, dropped=dropped)
        yield Sources(now.context)
        for event in replay(work.now):
            yield event


async def _quote_instead(work: AnswerDraft) -> AsyncIterator[Event]:
    """Replace a model's answer that its sources hardly support, or without content, by quotes.

    A model that repeats its prompt is an example. A refusal stays one.
    """
    now = work.now
    if now.state is not State.DONE or not now.model or work.refuses_in_other_words:
        return
    judged = partial(is_baseless, now.searched_for, now.text, now.sentences, now.context)
    if not await off_loop(judged, len(now.text)):
        return
    for event in await write_quotes(work):
        yield event
    work.note(gettext("The sources support too little of what the model wrote."))
    if work.now.state is State.DONE:
        work.note(gettext("The sentences below are quoted from them instead."))
