"""Text -> Question: the query, the plan of its ranking, and what is settled about it.

A plan is chosen before the search starts: the caller's profile, else that of the searched
collection or type, else the plan of a part, else the site's profile. Parts register planners.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings

from search.domain import Profile, Query, Trial
from search.engine import Request
from search.engine.configuration import Configuration
from search.engine.ranking import Ranking
from search.engine.scope_profile import scope_profile
from search.engine.settle import Settled, settle
from search.query import parse
from search.query.query_key import hidden_from, pins_for
from search.query.synonyms import expansions

Mix = Callable[[Sequence[Ranking], bool], Ranking]
"""Joins the rankings of one question, one a profile; the flag says whether they are grouped."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The profiles that rank a search; several only with `mix`, which joins their rankings.

    `trial` is the search's part in an experiment; `notes` are sentences on the choice.
    """

    profiles: tuple[Profile, ...]
    mix: Mix | None = None
    trial: Trial | None = None
    notes: tuple[str, ...] = ()


Planner = Callable[[Query, Request, Configuration], Plan | None]
"""Returns the plan of a search for which nothing is forced; None leaves it to the next one."""

_planners: list[Planner] = []


def register_planner(planner: Planner) -> None:
    """Let a part choose plans for searches."""
    if planner not in _planners:
        _planners.append(planner)


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its request, the configuration, and how each profile of its plan settles it.

    Nothing is settled for a question that is not ranked. `started` is the time at which the query
    was parsed, on the clock of `time.perf_counter`.
    """

    query: Query
    request: Request
    configuration: Configuration
    plan: Plan = Plan(())
    settled: tuple[Settled, ...] = ()
    started: float = field(default_factory=time.perf_counter)


def read_query(text: str, configuration: Configuration, *, insist: bool = False) -> Query:
    """The query, parsed with the administrators' patterns, with their synonyms, pins and hides."""
    most = settings.SEARCH_QUERY_CHARS
    query = parse(text, configuration.patterns, insist=insist, most=most)
    return replace(
        query,
        expansions=expansions(query.text, configuration.synonyms),
        pins=pins_for(query.original, configuration.pins),
        hidden=hidden_from(query.original, configuration.hides),
    )


def read(text: str, request: Request, configuration: Configuration) -> Question:
    """The question, settled under each profile of its plan. Raises QueryTooLong, UnknownProfile.

    One database query at most: for a collection of chosen groups that names a profile.
    """
    query = read_query(text, configuration, insist=request.choices.insist)
    plan = _plan(query, request, configuration)
    settled = tuple(settle(query, configuration, each, request.choices) for each in plan.profiles)
    return Question(query, request, configuration, plan, settled)


def _plan(query: Query, request: Request, configuration: Configuration) -> Plan:
    scope = scope_profile(query, request, configuration)
    choices = request.choices
    if scope.profile is None and not choices.forced and not query.is_empty:
        for planner in _planners:
            if (plan := planner(query, request, configuration)) is not None:
                return replace(plan, notes=scope.notes)
    profile = choices.snapshot or scope.profile or configuration.profile(choices.profile)
    return Plan((profile,), notes=scope.notes)
