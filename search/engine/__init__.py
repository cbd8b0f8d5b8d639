"""The search engine: request, settle, find, rank, respond. Start with `search.pipeline`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ingestion.models.visibility import Viewer
from search.domain import Profile, QueryClass, Weights
from search.retrieval import Filters

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 50
# Seconds for a model's answer that no reader waits for. A guess.
MEASUREMENT_TIMEOUT = 60.0


class Purpose(Enum):
    """The purpose of a search: to read, to tune the search, or to measure it."""

    READER = "reader"
    TUNER = "tuner"
    MEASUREMENT = "measurement"

    @property
    def timeout(self) -> float | None:
        """The seconds to wait for each model's answer; None: the settings' limit for readers.

        Measurements wait longer: a figure must not depend on the machine's load.
        """
        return MEASUREMENT_TIMEOUT if self is Purpose.MEASUREMENT else None


@dataclass(frozen=True, slots=True)
class Choices:
    """The caller's overrides of the active profile and the classifier; empty fields override
    nothing.

    `exact`: search the query as typed, even if it is misspelt. `insist`: its phrases and exclusions
    are required in pasted text, too, and even without a match. `snapshot` is a profile to rank by,
    which need not be published, such as a draft under test.
    """

    profile: str = ""
    query_class: QueryClass | None = None
    weights: Weights | None = None
    exact: bool = False
    insist: bool = False
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
    """The parameters of `search.pipeline.search` except the text."""

    viewer: Viewer
    filters: Filters = field(default_factory=Filters)
    choices: Choices = NOTHING_FORCED
    group: bool = True
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    newest_first: bool = False
    mark_folded: bool = False
    visitor: str = ""
    purpose: Purpose = Purpose.READER
