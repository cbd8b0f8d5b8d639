"""What can go wrong with a question, in words for the person who asked."""

from __future__ import annotations


class SearchError(Exception):
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
