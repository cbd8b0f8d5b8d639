"""Q7: the response of a search: one page of a ranking, with the settings that produced it."""

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
from search.engine.rank import FallbackRanking, Ranking, is_low
from search.engine.settle import DEFAULT_PAGE_SIZE, Settled
from search.presentation.results import Result
from search.ranking.grouping import Group


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """One page of a ranking, with everything that shaped it.

    `results` is a page of the ranking's groups; a group for each hit unless `grouped`. `degraded`
    names the signals that failed. `trial` is the search's part in an experiment; if that mixes two
    rankings, `teams` has the team that picked each of `results`, "" for both. `notes` are sentences
    on why the weights are not the class's and, for those who may edit hides, on hidden documents.
    `suggestion` is the corrected spelling of the query, or empty; `corrected_from` the query as
    typed if it had no results and this answers its correction. `milliseconds` has `embed`,
    `retrieve`, `rank`, `show` and `total`.
    """

    ranking: Ranking
    results: tuple[Result, ...] = ()
    grouped: bool = True
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    degraded: tuple[Signal, ...] = ()
    notes: tuple[str, ...] = ()
    suggestion: str = ""
    corrected_from: str = ""
    trial: Trial | None = None
    teams: tuple[str, ...] = ()
    terms: tuple[TermStatistic, ...] = ()
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def settled(self) -> Settled:
        return self.ranking.settled

    @property
    def query(self) -> Query:
        return self.settled.query

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

        None if the embedding space has no calibration.
        """
        return self.ranking.confidence

    @property
    def second_try(self) -> FallbackRanking | None:
        """The first ranking's weights and confidence, if a fallback ranking replaced it."""
        return self.ranking.fallback

    @property
    def low_confidence(self) -> bool:
        """Whether the confidence is below the profile's threshold."""
        return is_low(self.confidence, self.profile)

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
