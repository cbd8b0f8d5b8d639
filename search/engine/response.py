"""Ranking -> SearchResponse: the requested page, its results and notes, and what shaped them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.utils.translation import gettext

from ingestion.lexical.languages import text_config
from ingestion.models import Document
from search.domain import (
    Classification,
    EvidenceLevel,
    Group,
    Hit,
    Profile,
    Query,
    Signal,
    Stage,
    TermStatistic,
    Trial,
    Weights,
)
from search.engine import DEFAULT_PAGE_SIZE
from search.engine.configuration import Configuration
from search.engine.ranking import Ranking
from search.engine.read import Question
from search.engine.settle import Settled
from search.presentation.marking import with_nearest
from search.presentation.notices import (
    correction,
    hiding_notes,
    language_gap,
    left_out,
    loosened,
    unreadable_notes,
)
from search.presentation.records import RecordLookup
from search.presentation.results import Result, results_for
from search.query.language import OtherLanguage, other_language, unfamiliar
from search.query.spelling_correction import correctable

RELEVANT = 0.5  # of the best score; a guess


@dataclass(frozen=True)
class SearchResponse:
    """One page of a ranking, with everything that shaped it.

    `results` is a page of the ranking's groups; a group for each hit unless `grouped`. `degraded`
    names the signals and stages that failed. `trial` is the search's part in an experiment. `notes`
    are sentences on what was left out of a long question, on why the weights are not the class's
    and, for those who may edit hides, on hidden documents. `unknown` are words of the query that no
    searched text contains. `suggestion` is the corrected spelling of the query, or empty;
    `corrected_from` the query as typed if this answers its correction. `other_language`: that of
    the question, if the searched texts are in others. `milliseconds` has `embed`, `retrieve`,
    `rank`, `show` and `total`, and `rerank` if a reranker was to be asked. `abstains`: see
    `abstaining`. `configuration` is that of the search, None for an empty query.
    """

    ranking: Ranking
    results: tuple[Result, ...] = ()
    grouped: bool = True
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    degraded: tuple[Signal | Stage, ...] = ()
    notes: tuple[str, ...] = ()
    suggestion: str = ""
    corrected_from: str = ""
    trial: Trial | None = None
    terms: tuple[TermStatistic, ...] = ()
    unknown: tuple[str, ...] = ()
    other_language: OtherLanguage | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)
    abstains: bool = False
    configuration: Configuration | None = None

    def abstaining(self, below: float | None) -> SearchResponse:
        """The response; without results if its confidence is unknown, or less than `below`."""
        if below is None or (self.confidence or 0.0) >= below:
            return self
        note = gettext("Nothing is returned: the confidence is below %(below)g.") % {"below": below}
        return replace(self, results=(), notes=(*self.notes, note), abstains=True)

    @property
    def settled(self) -> Settled:
        return self.ranking.settled

    @property
    def query(self) -> Query:
        return self.settled.query

    @property
    def teams(self) -> tuple[str, ...]:
        """The team of each of `results` if two rankings were interleaved; else empty."""
        teams = (result.group.team for result in self.results)
        return tuple(team for team in teams if team is not None)

    @property
    def loosened(self) -> tuple[str, ...]:
        """Sentences on phrases and exclusions that were not required; the caller may insist."""
        return loosened(self.query)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences on spelling, language and relaxed operators, then the notes."""
        texts = (correction(self.query.original, self.corrected_from), self.language_gap)
        return (*filter(None, texts), *self.loosened, *self.notes)

    @property
    def language_gap(self) -> str:
        """A sentence if neither the texts nor the model know the question's language."""
        return language_gap(self.other_language)

    @property
    def profile(self) -> Profile:
        return self.settled.profile

    @property
    def classification(self) -> Classification:
        return self.settled.classification

    @property
    def weights(self) -> Weights:
        return self.settled.weights

    @property
    def forced(self) -> tuple[str, ...]:
        """The names of the caller's overrides: "profile", "class", "weights"."""
        return self.settled.forced

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The whole ranking: all candidates within the profile's depth."""
        return self.ranking.hits

    @property
    def groups(self) -> tuple[Group[Hit], ...]:
        """The hits grouped by document; one group per hit unless `grouped`. None if it abstains."""
        return () if self.abstains else self.ranking.groups

    @property
    def confidence(self) -> float | None:
        """The probability that the first ten results answer the query, whatever page is shown.

        None if neither the vectors nor BM25 ran.
        """
        return self.ranking.confidence

    @property
    def low_confidence(self) -> bool:
        """Whether the confidence is below the profile's threshold, or no result of the first page
        holds the record that the question asks for by its number alone; False if unknown.
        """
        if self.confidence is None:
            return False
        return self.confidence < self.profile.confidence_threshold or self._lacks_record

    @cached_property
    def _lacks_record(self) -> bool:
        # Holders lead: further pages lack what the first one may have. A pin answers without it,
        # and a name without a number (VectorStore) may be in prose in another form.
        if self.page > 1 or self.query.pins or not self.results:
            return False
        lookup = self.results[0].lookup
        has_number = lookup.numbered or any(map(str.isdigit, self.query.text))
        return bool(has_number) and lookup.is_bare and not any(r.holds_record for r in self.results)

    @property
    def fits_nothing(self) -> bool:
        """Whether probably nothing answers the query.

        True for a low confidence with words of the query that no searched text contains, or below
        half of the threshold. Not where the model does not know the question's language, and the
        first hit is in it: there the words that it shares say more than those that it lacks.
        """
        if not self.low_confidence or self.confidence is None or self._is_led_by_words:
            return False
        return bool(self.unknown) or self.confidence < self.profile.confidence_threshold / 2

    @property
    def unfamiliar_language(self) -> str:
        """The name of the question's language if the model does not know it, else empty."""
        space = self.configuration and self.configuration.space
        supported = space.languages if space else ()
        return unfamiliar(self.query.text, self.ranking.candidates.readings, supported)

    @property
    def _is_led_by_words(self) -> bool:
        """Whether the first hit is in the question's language, and the model does not know it."""
        name, candidates = self.unfamiliar_language, self.ranking.candidates
        if not (name and self.hits):
            return False
        row = candidates.rows["language"][candidates.rows["chunk"] == self.hits[0].chunk_id][0]
        return bool(row >= 0 and text_config(candidates.languages[row]).title() == name)

    @property
    def evidence(self) -> EvidenceLevel:
        """How well the results bear out an answer: WEAK for a low or unknown confidence, NONE
        without results, and where the page says that probably nothing answers.
        """
        if not self.total or self.fits_nothing:
            return EvidenceLevel.NONE
        is_weak = self.confidence is None or self.low_confidence
        return EvidenceLevel.WEAK if is_weak else EvidenceLevel.STRONG

    @property
    def total(self) -> int:
        """The number of groups over all pages."""
        return len(self.groups)

    @property
    def copies(self) -> int:
        """The number of documents, over all pages, that only stand below a copy of theirs."""
        documents = {hit.document_id for hit in self.hits}
        return len(documents) - self.total if self.grouped and not self.abstains else 0

    @property
    def first(self) -> int:
        """The rank of the page's first result among all results, from 1."""
        return (self.page - 1) * self.page_size + 1

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.page_size))


def respond(ranking: Ranking, question: Question) -> SearchResponse:
    """The response with the requested page of the ranking; two queries at most, none if empty."""
    request, candidates = question.request, ranking.candidates
    if question.query.is_empty:
        return SearchResponse(ranking, page_size=request.page_size)
    started = time.perf_counter()
    spent = candidates.milliseconds
    to_rank = 1000 * (started - question.started) - sum(spent.values())
    space = question.configuration.space
    words = [word.text for word in correctable(candidates.query)]
    return SearchResponse(
        ranking,
        _page(ranking, question),
        grouped=request.group,
        page=request.page,
        page_size=request.page_size,
        degraded=candidates.degraded,
        notes=_notes(ranking, question),
        trial=question.plan.trial,
        terms=candidates.terms,
        unknown=candidates.unknown,
        other_language=other_language(candidates, words, space.languages if space else ("",)),
        milliseconds={**spent, "rank": to_rank, "show": 1000 * (time.perf_counter() - started)},
        configuration=question.configuration,
    )


def _page(ranking: Ranking, question: Question) -> tuple[Result, ...]:
    """The results of the requested page, counted from 1; empty beyond the last one."""
    request, candidates = question.request, ranking.candidates
    groups = newest_first(ranking.groups) if request.newest_first else ranking.groups
    first = (request.page - 1) * request.page_size
    results = results_for(
        groups[first : first + request.page_size],
        viewer=request.viewer,
        terms=candidates.terms,
        query=candidates.query,
        lookup=RecordLookup.of(candidates.query, question.configuration.patterns),
        currencies=candidates.currency,
        mark_folded=request.mark_folded,
    )
    return with_nearest(results, candidates.query.text, question.configuration.space)


def newest_first(groups: Sequence[Group[Hit]]) -> list[Group[Hit]]:
    """The relevant groups by their documents' dates, then the others in their order; one query.

    A group is relevant from RELEVANT of the best score on: the nearest passages include some that
    do not answer the question at all, and their dates must not lead.
    """
    documents = Document.objects.filter(pk__in={group.best.document_id for group in groups})
    dates = dict(documents.order_by().values_list("pk", "created"))
    least = RELEVANT * max((group.best.ranked_score for group in groups), default=0.0)

    def place(group: Group[Hit]) -> tuple[bool, float]:
        # A document deleted since it was ranked has no date.
        date = dates.get(group.best.document_id)
        is_dated = date is not None and group.best.ranked_score >= least
        return not is_dated, -date.timestamp() if is_dated and date else 0.0

    return sorted(groups, key=place)


def _notes(ranking: Ranking, question: Question) -> tuple[str, ...]:
    """The notes on a long question, its plan, its weights, hidden and unreadable documents."""
    query, request = question.query, question.request
    unreadable = unreadable_notes(request.filters, query.filters.collections, request.viewer)
    return (
        *left_out(ranking.candidates),
        *question.plan.notes,
        *ranking.settled.notes,
        *hiding_notes(query.hidden, request.viewer),
        *(() if ranking.groups else unreadable),
    )
