"""The plan of a search in the running experiment: both profiles' rankings, interleaved.

Clicks on the mixed ranking compare them. No hit is lost: each hit of either ranking is in it, with
the explanation of the ranking that picked it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from search.domain import Candidates, Group, Hit, Profile, Query, RunningExperiment, Trial
from search.engine import Request
from search.engine.configuration import Configuration
from search.engine.ranking import Ranking
from search.engine.read import Mix, Plan
from search.parts.experiments.interleaving import takes_part, team_draft
from search.parts.experiments.models import Experiment
from search.query.query_key import fold_query


def plan_of(query: Query, request: Request, configuration: Configuration) -> Plan | None:
    """The plan of a search in the running experiment, the same for the same visitor.

    None without an experiment, for searches without a visitor, and outside the experiment's share.
    The seed of an interleaving is the visitor and the question, so that a reload and the second
    page are consistent.
    """
    experiment, visitor = configuration.experiment, request.visitor
    if (
        experiment is None
        or not visitor
        or not takes_part(visitor, experiment.salt, experiment.share)
    ):
        return None
    both = (experiment.a, experiment.b)
    own = both.index(configuration.active) if configuration.active in both else 0
    seed = f"{experiment.salt}:{visitor}:{fold_query(query.original)}"
    return Plan(both, _mix(seed, own), Trial(experiment.pk, both))


def _mix(seed: str, own: int) -> Mix:
    def mix(rankings: Sequence[Ranking], grouped: bool) -> Ranking:
        first, second = rankings
        settled = rankings[own].settled
        return replace(mixed(first, second, seed, grouped=grouped), settled=settled)

    return mix


def running_experiment(profiles: Mapping[int, Profile]) -> RunningExperiment | None:
    """The running experiment, whose profiles are among the published `profiles`, by row id."""
    row = Experiment.objects.filter(state=Experiment.State.RUNNING).first()
    if row is None:
        return None
    return RunningExperiment(
        pk=row.pk, salt=row.salt, share=row.share, a=profiles[row.a_id], b=profiles[row.b_id]
    )


def mixed(a: Ranking, b: Ranking, seed: str, *, grouped: bool) -> Ranking:
    """Both rankings interleaved, with the lower confidence and A's `settled`.

    Each group has the team that picked it: "a", "b", or "" for both. `grouped`: each document
    appears once; otherwise each passage. Near-duplicates that the two rankings fold under different
    documents count as one.
    """
    ours = {_key(group, grouped=grouped): group for group in a.groups}
    theirs = _matched(b.groups, a.groups, grouped=grouped)
    drafted = team_draft(list(ours), list(theirs), seed)
    groups = _ranked(
        [replace(theirs[key] if team == "b" else ours[key], team=team) for key, team in drafted]
    )
    hits = sorted((hit for group in groups for hit in _hits(group)), key=lambda hit: hit.rank)
    sure = [each.confidence for each in (a, b) if each.confidence is not None]
    return Ranking(
        a.settled,
        _together(a.candidates, b.candidates),
        tuple(hits),
        tuple(groups),
        min(sure, default=None),
    )


def _together(a: Candidates, b: Candidates) -> Candidates:
    """A's candidates with the degradations and times of both."""
    times = dict(a.milliseconds)
    for step, spent in b.milliseconds.items():
        # Two rankings of one candidate set share its retrieval, each has its own reranking.
        if step == "rerank" or a.rows is not b.rows:
            times[step] = times.get(step, 0.0) + spent
    degraded = tuple(dict.fromkeys((*a.degraded, *b.degraded)))
    return replace(a, degraded=degraded, milliseconds=times)


def _key(group: Group[Hit], *, grouped: bool) -> int:
    return group.best.document_id if grouped else group.best.chunk_id


def _matched(
    groups: Sequence[Group[Hit]], others: Iterable[Group[Hit]], *, grouped: bool
) -> dict[int, Group[Hit]]:
    """The groups by key: that of the other ranking's group which folds their document, if any."""
    folded = {
        copy.document_id: _key(other, grouped=grouped)
        for other in others
        if grouped
        for copy in other.copies
    }
    keys = {_key(group, grouped=grouped) for group in groups}
    matches: dict[int, Group[Hit]] = {}
    for group in groups:
        key = _key(group, grouped=grouped)
        under = folded.get(key)
        # If one of their groups folds two of ours, the second keeps its own key.
        if under is not None and under not in keys:
            key = under
            keys.add(under)
        matches[key] = group
    return matches


def _ranked(groups: Sequence[Group[Hit]]) -> list[Group[Hit]]:
    """The groups, in order, with unique ranks for their passages, close to the original ones."""
    placed: list[tuple[int, int, int, Hit]] = []
    at = 0
    for number, group in enumerate(groups):
        at = max(at, group.best.rank)
        placed.append((at, number, 0, group.best))
        placed += [(max(at, hit.rank), number, hit.rank, hit) for hit in _hits(group)[1:]]
    placed.sort(key=lambda place: place[:3])
    ranks = {id(hit): rank for rank, (*_, hit) in enumerate(placed, start=1)}

    def renumbered(hits: Iterable[Hit]) -> tuple[Hit, ...]:
        return tuple(replace(hit, rank=ranks[id(hit)]) for hit in hits)

    return [
        replace(
            group,
            best=renumbered([group.best])[0],
            folded=renumbered(group.folded),
            copies=renumbered(group.copies),
        )
        for group in groups
    ]


def _hits(group: Group[Hit]) -> tuple[Hit, ...]:
    return (group.best, *group.folded, *group.copies)
