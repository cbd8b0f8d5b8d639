"""The errors of search. Their messages are for the person who searched."""

from __future__ import annotations

from common import UserError
from search.domain import QueryFilters


class SearchError(UserError):
    """Base of all search errors. `str(error)` says what went wrong and what to do."""

    code = "search_error"


class QueryTooLong(SearchError):
    code = "query_too_long"


class EmptyQuestion(SearchError):
    """The query has filters and exclusions only.

    `filters` are the query's (`search.domain.QueryFilters`) if it has nothing else, otherwise None.
    """

    code = "nothing_asked"

    def __init__(self, message: str, filters: QueryFilters | None = None, **values: object) -> None:
        super().__init__(message)
        self.values, self.filters = values, filters


class UnknownProfile(SearchError):
    code = "unknown_profile"


class NoActiveProfile(SearchError):
    code = "no_active_profile"
    status = 503


class InvalidFilter(SearchError):
    code = "invalid_filter"


class RerankerUnavailable(SearchError):
    """The reranker gave no usable answer. `str(error)` is for the log and for administrators.

    `retry_after` is the pause in seconds that the server asks for. `is_final`: it will refuse
    until somebody changes the settings.
    """

    code = "reranker_unavailable"

    def __init__(
        self, message: str, retry_after: float | None = None, *, is_final: bool = False
    ) -> None:
        super().__init__(message, retry_after)
        self.is_final = is_final


class ModelUnavailable(SearchError):
    """The language model gave no answer, or stopped in the middle of one.

    `code` is the reason, one of `generating.failures`; the message says what to do. Text that came
    before remains valid.
    """

    status = 503

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AnswerFailed(SearchError):
    """An answer could not be completed. The code is the reason, the message says what to do."""

    status = 503

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ThreadFull(SearchError):
    """A conversation has as many answers as one may have."""

    code = "thread_full"
    status = 409


class Busy(SearchError):
    """Too many whole answers are being written; `retry_after` is the pause to make, in seconds."""

    code = "busy"
    status = 503


class BudgetExceeded(ModelUnavailable):
    """No call of the language model is allowed until a budget resets."""

    status = 429

    def __init__(self, message: str) -> None:
        super().__init__("budget_exceeded", message)


class ProfileError(SearchError):
    """A profile cannot be edited or published as requested."""

    code = "profile_error"


class NotPermitted(SearchError):
    """The acting user lacks the permission."""

    code = "permission_denied"
    status = 403


class JudgementError(SearchError):
    """A judgement cannot be made or withdrawn."""

    code = "judgement_error"


class RunConflict(SearchError):
    """The state of a run or a publication does not allow the operation."""

    code = "conflict"
    status = 409


class RunFailed(SearchError):
    """The golden set could not be evaluated; the message says why, and what to do."""

    code = "run_failed"


class UnknownSearch(SearchError):
    """The visitor has no search of that id, or it was too long ago."""

    code = "not_found"


class InteractionRefused(SearchError):
    """A reported interaction does not match its search."""

    code = "invalid_interaction"


class GapError(SearchError):
    """The state of a search gap does not allow the operation, or an input is missing."""

    code = "gap_error"


class PoolError(SearchError):
    """The pool of golden queries could not be built; the message says why, and what to do."""


class ExperimentError(SearchError):
    """An experiment cannot be planned, started or ended as requested."""

    code = "experiment_error"
