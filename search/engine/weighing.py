"""Q4-Q6: what was found -> its ranking under a profile: the second half of a search. Pure.

The search, its experiments and the what-if of the workbench all rank by this.
"""

from __future__ import annotations

from dataclasses import dataclass

from search.domain import Profile
from search.engine.configuration import Configuration
from search.engine.found import Found, as_found_by
from search.engine.request import Choices
from search.engine.second_try import Ranking, surest
from search.engine.settle import (
    Understood,
    as_ranked,
    leaning,
    options_for,
    signals_for,
    understand,
)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A ranking, and what was settled about the question by the time it stood."""

    understood: Understood
    ranking: Ranking


def weigh(
    found: Found,
    configured: Configuration,
    profile: Profile,
    choices: Choices | None = None,
    *,
    group: bool = True,
) -> Weighed:
    """The ranking of what was found under the profile, without the database.

    Of a wide find it takes what a search under the profile would have found.
    """
    choices = choices or Choices()
    query = found.query
    as_classified = understand(query, configured, profile, choices)
    found = as_found_by(found, profile, signals_for(query, as_classified))
    understood = leaning(as_classified, found, configured)
    means_something = found.by_meaning and understood is as_classified
    ranking = surest(
        query,
        found.candidates,
        found.terms,
        understood.weights,
        profile,
        options_for(understood, query, found.terms),
        configured.calibration,
        group=group,
        by_meaning=means_something,
        may_shift=choices.weights is None and means_something,
    )
    return Weighed(as_ranked(understood, ranking), ranking)
