"""The errors of search. Their messages are for the person who searched."""

from __future__ import annotations

from common.errors import UserError


class SearchError(UserError):
    """Base of all search errors. `str(error)` says what went wrong and what to do."""

    code = "search_error"


class QueryTooLong(SearchError):
    code = "query_too_long"


class NothingAsked(SearchError):
    """The query has filters and exclusions only."""

    code = "nothing_asked"


class UnknownProfile(SearchError):
    code = "unknown_profile"


class NoActiveProfile(SearchError):
    code = "no_active_profile"


class InvalidFilter(SearchError):
    code = "invalid_filter"


class ProfileError(SearchError):
    """A profile cannot be edited or published as requested."""

    code = "profile_error"


class NotPermitted(SearchError):
    """The acting user lacks the permission."""

    code = "permission_denied"


class JudgementError(SearchError):
    """A judgement cannot be made or withdrawn."""

    code = "judgement_error"


class RunConflict(SearchError):
    """The state of a run or a publication does not allow the operation."""

    code = "conflict"


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
