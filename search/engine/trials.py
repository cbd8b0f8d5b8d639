"""Q2-Q6 of a search that takes part in an experiment: whose ranking it shows, or both as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from search.domain import Query, Trial
from search.engine.configuration import Configuration
from search.engine.find import found_for, found_for_both, score_alike, together
from search.engine.found import Found
from search.engine.mixing import mixed
from search.engine.request import Asked
from search.engine.settle import understand
from search.engine.weighing import Weighed, weigh
from search.presentation.results import Result
from search.ranking.grouping import Group


def part_of(query: Query, asked: Asked, configured: Configuration) -> Trial | None:
    """The search's part in the experiment that runs; none for a caller who forces anything."""
    choices, running = asked.choices, configured.experiment
    forced = choices.profile or choices.snapshot or choices.query_class or choices.weights
    if running is None or asked.takes_part is None or forced or query.is_empty:
        return None
    return asked.takes_part(running, query.original, configured.active)


def mixed_ranking(
    query: Query, asked: Asked, trial: Trial, configured: Configuration
) -> tuple[Found, Weighed, tuple[str, ...]]:
    """Both profiles' rankings as one, and whose pick each group is; `trial.mix` mixes them.

    They come from one find where the profiles' scorers are the same.
    """
    assert trial.mix is not None
    settled = [understand(query, configured, each, asked.choices) for each in trial.profiles]
    if score_alike(*trial.profiles):
        found = found_for_both(query, asked.viewer, asked.filters, settled, configured)
        finds = [found, found]
    else:
        finds = [
            found_for(query, asked.viewer, asked.filters, each, configured) for each in settled
        ]
        found = together(finds)
    first, second = (
        weigh(each, configured, profile, asked.choices, group=asked.group)
        for each, profile in zip(finds, trial.profiles, strict=True)
    )
    both = mixed(first.ranking, second.ranking, trial.mix, grouped=asked.group)
    named = (first, second)[trial.profiles.index(trial.named)]
    return found, replace(named, ranking=both.ranking), both.teams


def teams_of(
    results: Sequence[Result], groups: Sequence[Group], teams: Sequence[str]
) -> tuple[str, ...]:
    """Each result's team; nothing where no rankings were mixed."""
    if not teams:
        return ()
    by_group = {id(group): team for group, team in zip(groups, teams, strict=True)}
    return tuple(by_group[id(result.group)] for result in results)
