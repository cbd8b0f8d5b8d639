"""What can go wrong with a question, in words for the person who asked."""

from __future__ import annotations

from common.errors import UserError


class SearchError(UserError):
    """Base of all search errors. `str(error)` says what was wrong and what to do."""

    code = "search_error"


class QueryTooLong(SearchError):
    code = "query_too_long"


class NothingAsked(SearchError):
    """The query narrows and leaves out, and asks for nothing."""

    code = "nothing_asked"


class UnknownProfile(SearchError):
    code = "unknown_profile"


class NoActiveProfile(SearchError):
    code = "no_active_profile"


class InvalidFilter(SearchError):
    code = "invalid_filter"


class ProfileError(SearchError):
    """A profile cannot be edited or published as asked."""

    code = "profile_error"


class NotPermitted(SearchError):
    """The acting person lacks the permission for this."""

    code = "permission_denied"


class JudgementError(SearchError):
    """A judgement cannot be made or taken back as asked."""

    code = "judgement_error"


class RunConflict(SearchError):
    """A run or a publication is not in a state for this."""

    code = "conflict"


class RunFailed(SearchError):
    """The golden set could not be measured. Says why, and what to do."""

    code = "run_failed"


class UnknownSearch(SearchError):
    """No search of this visitor has that id, or it is too long ago."""

    code = "not_found"


class InteractionRefused(SearchError):
    """What is reported does not fit the search that it is about."""

    code = "invalid_interaction"


class GapError(SearchError):
    """A search gap is not in a state for this, or something is missing to do it."""

    code = "gap_error"


class PoolError(SearchError):
    """The golden queries' candidates could not be kept. Says why, and what to do."""


class ExperimentError(SearchError):
    """An experiment cannot be planned, started or ended as asked."""

    code = "experiment_error"
