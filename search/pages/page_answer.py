"""The answer that comes with a page of results: a piece of text, from the page's own search."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest

from common import UserError
from common.accounts import quotas
from common.api.throttles import seconds_to_wait
from ingestion.edition_titles import edition_title
from search.analytics.pseudonyms import is_recorded, visitor_of
from search.answers import answering, recording
from search.answers.checking.conflicts import FIRST
from search.answers.domain import Answered, Mode, State
from search.answers.question_forms import Form, form_of, sides_of
from search.answers.rendering import has_two_sides
from search.answers.request import AnswerRequest
from search.domain import Query, QueryFilters
from search.pages.answer_asking import may_start
from search.pages.answer_cards import AnswerCard, answer_card
from search.pages.search_form import SearchForm
from search.pipeline import SearchResponse
from search.presentation.results import Result

logger = logging.getLogger(__name__)

# The first words of questions in common languages. A word that is missing costs a press of a
# button, no more.
_ENGLISH = """how what when where which who whom whose why can could do does did is are was were
    should will would may must has have"""
_GERMAN = """wie was wann wo woher wohin warum wieso weshalb wer wen wem wessen welche welcher
    welches wieviel wieviele kann darf muss ist sind gibt"""
_FRENCH = "comment quand quel quelle quels quelles qui que quoi où pourquoi combien est-ce"
_SPANISH = "cómo como cuándo cuando cuál cual cuáles quién quien qué dónde donde cuánto cuántos"
_ITALIAN = "come quando quale quali chi cosa dove perché quanto"
_DUTCH = "hoe wat wanneer waar welk welke wie waarom"
QUESTION_WORDS = frozenset(
    " ".join((_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _DUTCH)).split()
)
FEWEST_WORDS = 3
LONG_WORDS = 7  # without a question word or mark. A guess.
SHORTEST_QUESTION = 8  # characters, with a question mark: not every language separates words
_WORD = re.compile(r"\w[\w'’-]*")


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What a page of results answers by itself.

    `card`: the quoted answer, None without one. `result`: the first result if the piece is of its
    section, and stands there in place of its excerpt. `asks_model`: the page requests a model's
    answer without a click, whose text replaces the quote. `offers`: it has a button that asks for
    one. `record` stores the quoted answer, if it is to be: after the page has been sent.
    """

    card: AnswerCard | None = None
    result: Result | None = None
    asks_model: bool = False
    offers: bool = False
    record: Callable[[], None] | None = None


def page_answer(request: HttpRequest, form: SearchForm, response: SearchResponse) -> PageAnswer:
    """The answer of a page with results: none on further pages, where nothing seems to fit, and
    where no piece surely answers a question that was only searched for.

    Questions are answered once they are submitted, never while their words are typed; other
    searches where the reader asks for it, or two editions disagree. Links on other sites spend no
    budget of a model.
    """
    translates = bool(response.language_gap) and settings.ANSWERS_GENERATED
    fits_nothing = response.fits_nothing and form_of(response.query.original) is not Form.COUNT
    if response.page > 1 or not response.results or (fits_nothing and not translates):
        return PageAnswer()
    by_model = settings.ANSWERS_GENERATED and settings.ANSWERS_AUTOMATIC != "quotes"
    is_question = deserves_answer(response.query)
    is_automatic = settings.ANSWERS_AUTOMATIC != "no" and (is_question or _has_editions(response))
    is_wanted = is_automatic or form.cleaned_data["ask"]
    if fits_nothing or not is_wanted or not may_start(request, may_write=by_model):
        return PageAnswer(offers=True)
    unanswered = PageAnswer(asks_model=by_model and is_automatic and is_question, offers=True)
    is_typed = request.htmx and "X-Submitted" not in request.headers  # type: ignore[attr-defined]
    is_quoted = not is_typed and (is_automatic or not by_model)
    # Until a model has written: the asking for its text is what is recorded and counted.
    is_counted = not by_model and (is_question or form.cleaned_data["ask"])
    quoted = (
        _quoted(request, form, response, is_question=is_question, is_counted=is_counted)
        if is_quoted
        else None
    )
    if quoted is None:
        return unanswered
    answered, record = quoted
    if answered.state is not State.DONE and (by_model or not form.cleaned_data["ask"]):
        # The results may still answer: nobody asked for a verdict on them.
        return replace(unanswered, offers=by_model or not is_question, record=record)
    said = answered.notes if answered.state is State.REFUSED else response.sentences
    notes = tuple(each for each in answered.notes if each not in said)
    own = replace(answered, notes=notes, degraded=())  # without what the page says by itself
    card = answer_card(own, request, is_stored=record is not None, carried=form.carried)
    if by_model:
        return replace(unanswered, card=card)
    first = response.results[0]
    return PageAnswer(card, first if _is_of(first, answered) else None, record=record)


def _quoted(
    request: HttpRequest,
    form: SearchForm,
    response: SearchResponse,
    *,
    is_question: bool,
    is_counted: bool,
) -> tuple[Answered, Callable[[], None] | None] | None:
    """The quoted answer, and the function that stores it; None if it cannot be had now."""
    if is_counted and seconds_to_wait(request):
        return None
    viewer: Any = request.user
    parameters = answering.active_parameters()
    question = AnswerRequest(
        form.query,
        viewer=viewer,
        visitor=visitor_of(request),
        mode=Mode.INSTANT,
        filters=form.filters,
        choices=form.choices,
        parameters=parameters,
        is_recorded=False,
        is_extractive=True,
        response=response,
    )
    is_stored = is_counted and is_recorded(request)
    try:
        if is_stored:
            quotas.spend(viewer, quotas.ANSWERS)
        answered = answering.answer(question)
    except UserError:
        return None
    # Nobody asked for a box: one over a passage that hardly answers misleads, and the passage
    # stands among the results anyway. .67 for the usual .2.
    is_sure = is_question and (answered.confidence or 0.0) >= parameters.refuse_below**0.25
    if not is_sure and not form.cleaned_data["ask"] and not has_two_sides(answered):
        answered = replace(answered, state=State.REFUSED, text=parameters.refusal, sentences=())
    return answered, partial(_store, answered, question) if is_stored else None


def _store(answered: Answered, question: AnswerRequest) -> None:
    """Store the answer; its reader has it already, so that an error of the database is logged."""
    try:
        recording.finish(answered, question)
    except DatabaseError:
        logger.exception("The answer %s could not be stored", answered.id)


def _is_of(result: Result, answered: Answered) -> bool:
    """Whether the piece is the only one in sight, and of the section that the result shows."""
    if answered.state is not State.DONE or not answered.cited or has_two_sides(answered):
        return False
    passage = answered.cited_passages[0]
    path = result.section.path if result.section else result.heading_path
    return passage.document_id == result.document_id and passage.heading_path == tuple(path)


def _has_editions(response: SearchResponse) -> bool:
    """Whether two editions of a document are among the first results, whose figures may differ."""
    results = (each for result in response.results[:FIRST] for each in (result, *result.copies))
    documents = {each.document_id: each for each in results}  # without grouping one may recur
    stems = [(each.collection_id, edition_title(each.title).stem) for each in documents.values()]
    return len(set(stems)) < len(stems)


def deserves_answer(query: Query) -> bool:
    """Whether a query is a question in natural language rather than a lookup.

    Lookups of an identifier or of a word or two, courtesies, and queries with operators, only get a
    button.
    """
    has_operators = query.phrases or query.excluded or query.strict is not None
    has_filters = query.filters != QueryFilters() or query.unwanted != QueryFilters()
    if query.is_empty or query.is_identifier or has_operators or has_filters:
        return False
    if form_of(query.original) is Form.COURTESY:
        return False
    if sides_of(query.text):
        return True
    words = _WORD.findall(query.text.casefold())
    if query.original.rstrip().endswith(("?", "\uff1f")):
        return len(words) >= FEWEST_WORDS or len(query.original) >= SHORTEST_QUESTION
    if len(words) < FEWEST_WORDS:
        return False
    return words[0] in QUESTION_WORDS or len(words) >= LONG_WORDS
