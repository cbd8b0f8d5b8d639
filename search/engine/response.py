"""Ranking -> SearchResponse: one page of it, with everything that shaped it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from django.utils.formats import number_format
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext

from search.domain import (
    Candidates,
    Classification,
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
from search.engine.notes import hiding_notes, unreadable_notes
from search.engine.ranking import Ranking, is_low
from search.engine.read import Question
from search.engine.settle import Settled
from search.presentation.marking import with_exact_words, with_nearest
from search.presentation.notices import correction, language_gap
from search.presentation.results import Result, newest_first, results_for, with_currency
from search.query.language import OtherLanguage, other_language
from search.query.spelling_correction import correctable
from search.retrieval.phrases import MOST_CHECKED

PlaceT = TypeVar("PlaceT")

MOST_NAMED = 3
MOST_NAMED_CHARS = 60


def loosened(query: Query) -> tuple[str, ...]:
    """Sentences on the phrases and exclusions of a query that were relaxed; none if none was."""
    sentences = []
    strict = query.strict
    if strict is not None:
        sentences.append(_relaxation(strict))
    wished = query.wished[len(strict.phrases) if strict else 0 :]
    if wished:
        text = gettext("The exact words %(phrases)s are preferred, not required.")
        sentences.append(text % {"phrases": _quoted(wished)})
    if query.ignored:
        text = gettext("The hyphen before %(words)s was read as text and excludes nothing.")
        sentences.append(text % {"words": _quoted(query.ignored)})
    return tuple(sentences)


def left_out(candidates: Candidates) -> tuple[str, ...]:
    """Sentences on the parts of a long question that the search ignored; none if it used all."""
    sentences = []
    if candidates.unread:
        text = ngettext(
            "Too long for matching by meaning: the last word was left out.",
            "Too long for matching by meaning: the last %(count)d words were left out.",
            candidates.unread,
        )
        sentences.append(text % {"count": candidates.unread})
    if candidates.left_out:
        text = ngettext(
            "Too many different words for keywords: the most common one was left out.",
            "Too many different words for keywords: the %(count)d most common ones were left out.",
            candidates.left_out,
        )
        sentences.append(text % {"count": candidates.left_out})
    if candidates.unchecked:
        text = gettext(
            "More than %(most)s passages contain all words of %(phrases)s; only that many were "
            "searched for the phrase. Add a rarer word to it, or a filter."
        )
        phrases = (candidates.query.strict or candidates.query).phrases
        most = number_format(MOST_CHECKED, force_grouping=True)
        sentences.append(text % {"most": most, "phrases": _quoted(phrases)})
    return tuple(sentences)


def _relaxation(strict: Query) -> str:
    """The reason why the phrases and exclusions were relaxed."""
    if not strict.phrases:
        text = gettext("Every result contains %(words)s, so nothing was excluded.")
    elif strict.excluded:
        text = gettext("No passage contains %(phrases)s without %(words)s. Showing similar ones.")
    elif len(strict.phrases) == 1:
        text = gettext("No passage contains the exact words %(phrases)s. Showing similar ones.")
    else:
        text = gettext("No passage contains all of %(phrases)s. Showing similar ones.")
    return text % {"phrases": _quoted(strict.phrases), "words": _quoted(strict.excluded)}


def _quoted(texts: Sequence[str]) -> str:
    """The first few texts in quotes, shortened, and whether there are more."""
    quotes = [f"“{Truncator(text).chars(MOST_NAMED_CHARS)}”" for text in texts[:MOST_NAMED]]
    return ", ".join(quotes + ["…"] * (len(texts) > MOST_NAMED))


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """One page of a ranking, with everything that shaped it.

    `results` is a page of the ranking's groups; a group for each hit unless `grouped`. `degraded`
    names the signals and stages that failed. `trial` is the search's part in an experiment; if that
    mixes two rankings, `teams` has the team that picked each of `results`, "" for both. `notes` are
    sentences on what was left out of a long question, on why the weights are not the class's and,
    for those who may edit hides, on hidden documents. `unknown` are words of the query that no
    searched text contains.
    `suggestion` is the corrected spelling of the query, or empty; `corrected_from` the query as
    typed if this answers its correction. `other_language`: that of the question, if the searched
    texts are in others. `milliseconds` has `embed`,
    `retrieve`, `rank`, `show` and `total`, and `rerank` if a reranker was to be asked.
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
    teams: tuple[str, ...] = ()
    terms: tuple[TermStatistic, ...] = ()
    unknown: tuple[str, ...] = ()
    other_language: OtherLanguage | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def settled(self) -> Settled:
        return self.ranking.settled

    @property
    def query(self) -> Query:
        return self.settled.query

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
        """The hits grouped by document; one group per hit unless `grouped`."""
        return self.ranking.groups

    @property
    def confidence(self) -> float | None:
        """The probability that the first ten results answer the query, whatever page is shown.

        None if neither the vectors nor BM25 ran.
        """
        return self.ranking.confidence

    @property
    def low_confidence(self) -> bool:
        """Whether the confidence is below the profile's threshold."""
        return is_low(self.confidence, self.profile)

    @property
    def fits_nothing(self) -> bool:
        """Whether probably nothing answers the query.

        True for a low confidence with words of the query that no searched text contains, or below
        half of the threshold.
        """
        if not self.low_confidence or self.confidence is None:
            return False
        return bool(self.unknown) or self.confidence < self.profile.confidence_threshold / 2

    @property
    def total(self) -> int:
        """The number of groups over all pages."""
        return len(self.groups)

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
    spent = dict(candidates.milliseconds)
    to_rank = 1000 * (started - question.started) - sum(spent.values())
    groups = newest_first(ranking.groups) if request.newest_first else ranking.groups
    page = _page_of(groups, request.page, request.page_size)
    results = results_for(
        page,
        viewer=request.viewer,
        terms=candidates.terms,
        question=candidates.query.text,
        mark_folded=request.mark_folded,
    )
    results = with_exact_words(results, candidates.query)
    results = with_nearest(results, candidates.query.text, question.configuration.space)
    results = with_currency(results, candidates.currency)
    hidden = hiding_notes(ranking.settled.hidden, request.viewer)
    named = () if groups else (*request.filters.collections, *question.query.filters.collections)
    hidden += unreadable_notes(named, request.viewer)
    return SearchResponse(
        ranking,
        results,
        grouped=request.group,
        page=request.page,
        page_size=request.page_size,
        degraded=candidates.degraded,
        notes=(*left_out(candidates), *question.plan.notes, *ranking.settled.notes, *hidden),
        trial=question.plan.trial,
        teams=_teams_of(results, page, _page_of(ranking.teams, request.page, request.page_size)),
        terms=candidates.terms,
        unknown=candidates.unknown,
        other_language=_other_language(candidates, question),
        milliseconds={**spent, "rank": to_rank, "show": 1000 * (time.perf_counter() - started)},
    )


def _other_language(candidates: Candidates, question: Question) -> OtherLanguage | None:
    space = question.configuration.space
    words = [word.text for word in correctable(candidates.query)]
    return other_language(candidates, words, space.languages if space else ("",))


def _page_of(places: Sequence[PlaceT], page: int, page_size: int) -> Sequence[PlaceT]:
    """The slice of `places` on page `page`, counted from 1; empty beyond the last page."""
    first = (page - 1) * page_size
    return places[first : first + page_size]


def _teams_of(
    results: Sequence[Result], groups: Sequence[Group[Hit]], teams: Sequence[str]
) -> tuple[str, ...]:
    """Each result's team; empty if no rankings were mixed."""
    if not teams:
        return ()
    by_group = {id(group): team for group, team in zip(groups, teams, strict=True)}
    return tuple(by_group[id(result.group)] for result in results)
