"""The parameters of a search besides its text: viewer, filters, ranking choices, page."""

from __future__ import annotations

from dataclasses import dataclass

from ingestion.models.library import Viewer
from search.domain import Profile, QueryClass, TakesPart, Weights
from search.retrieval import Filters

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Choices:
    """The caller's overrides of the active profile and the classifier. Empty: none.

    `exact`: search the query as typed, even if only its correction has results.
    `snapshot` is a profile to rank by that need not be published, such as a draft under test.
    """

    profile: str = ""
    query_class: QueryClass | None = None
    weights: Weights | None = None
    exact: bool = False
    snapshot: Profile | None = None

    @property
    def forced(self) -> tuple[str, ...]:
        """The names of the caller's overrides."""
        decided = {
            "profile": bool(self.profile or self.snapshot),
            "class": self.query_class is not None,
            "weights": self.weights is not None,
        }
        return tuple(name for name, is_forced in decided.items() if is_forced)


NOTHING_FORCED = Choices()


@dataclass(frozen=True, slots=True)
class Request:
    """The parameters of `search.pipeline.search` besides the text: see there."""

    viewer: Viewer
    filters: Filters
    choices: Choices
    group: bool = True
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    takes_part: TakesPart | None = None
