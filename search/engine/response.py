"""Q7: one page of a ranking, with everything that shaped it: what a search gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

from search.domain import (
    Classification,
    Hit,
    Profile,
    Query,
    Signal,
    TermStatistic,
    Trial,
    Weights,
)
from search.engine.request import DEFAULT_PAGE_SIZE
from search.engine.second_try import SecondTry, is_low
from search.presentation.results import Result
from search.ranking.grouping import Group


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """One page of a ranking, with everything that shaped it.

    `hits` is the whole ranking: all candidates that the profile's depth brings. `groups` are the
    same hits folded by document, of which `results` shows a page; a group each unless `grouped`.
    `degraded` names the signals that could not run. `confidence` is the probability that the
    first ten results answer the query, whatever page is shown; None where the embedding space has
    no calibration. `second_try`: `weights` are not those asked for, but surer ones.
    `trial` is the search's part in an experiment; where that mixes two rankings, `teams` says of
    each of `results` whose pick it is, "" for both's.
    `notes` say in sentences why the weights are not the class's, and to those who decide it what
    is hidden. `suggestion` is the query in better spelling, empty where there is none;
    `corrected_from` the query as typed where it found nothing and this answers its correction.
    `milliseconds` has `embed`, `retrieve`, `rank`, `show` and `total`.
    """

    query: Query
    profile: Profile
    classification: Classification
    weights: Weights
    results: tuple[Result, ...] = ()
    hits: tuple[Hit, ...] = field(default=(), repr=False)
    groups: tuple[Group, ...] = field(default=(), repr=False)
    grouped: bool = True
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    degraded: tuple[Signal, ...] = ()
    confidence: float | None = None
    second_try: SecondTry | None = None
    forced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    suggestion: str = ""
    corrected_from: str = ""
    trial: Trial | None = None
    teams: tuple[str, ...] = ()
    terms: tuple[TermStatistic, ...] = ()
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def low_confidence(self) -> bool:
        """Whether the first page may well hold no answer, as the profile draws the line."""
        return is_low(self.confidence, self.profile)

    @property
    def total(self) -> int:
        """How many groups can be paged through."""
        return len(self.groups)

    @property
    def first(self) -> int:
        """The place of the first result of the page among all results, from 1."""
        return (self.page - 1) * self.page_size + 1

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.page_size))
