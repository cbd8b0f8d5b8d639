"""Q2-Q6 of a search in an experiment: one arm's ranking, or both interleaved.

Interleaving lets clicks compare two rankings. No hit is lost: each hit of either ranking is in the
mixed one, with the explanation of the ranking that picked it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from search.domain import Candidates, Hit, Mix, Query, Trial
from search.engine.configuration import Configuration
from search.engine.find import find, find_for_both, score_alike, together
from search.engine.rank import Ranking
from search.engine.rerank import live_ranking
from search.engine.settle import Request, settle
from search.presentation.results import Result
from search.ranking.grouping import Group


def part_of(query: Query, asked: Request, configured: Configuration) -> Trial | None:
    """The search's trial in the running experiment; None for a caller who forces anything."""
    running = configured.experiment
    if running is None or asked.takes_part is None or asked.choices.forced or query.is_empty:
        return None
    return asked.takes_part(running, query.original, configured.active)


def mixed_ranking(
    query: Query, asked: Request, trial: Trial, mix: Mix, configured: Configuration
) -> tuple[Candidates, Ranking, tuple[str, ...]]:
    """The candidate set, both profiles' rankings interleaved, and the team of each group.

    Both rank one candidate set if the profiles' scorers are the same.
    """
    settled = [settle(query, configured, each, asked.choices) for each in trial.profiles]
    if score_alike(*trial.profiles):
        found = find_for_both(settled, asked.viewer, asked.filters, configured)
        sets = [found, found]
    else:
        sets = [find(each, asked.viewer, asked.filters, configured) for each in settled]
        found = together(sets)
    first, second = (
        live_ranking(candidates, each, configured, asked.viewer, group=asked.group)
        for candidates, each in zip(sets, settled, strict=True)
    )
    found = _with_reranking(found, first, second)
    both = mixed(first, second, mix, grouped=asked.group)
    named = (first, second)[trial.profiles.index(trial.named)]
    return found, replace(both.ranking, settled=named.settled), both.teams


def _with_reranking(found: Candidates, *rankings: Ranking) -> Candidates:
    """The candidate set with the degradations of the rankings, and their time for reranking."""
    sets = [found, *(each.candidates for each in rankings)]
    lacking = dict.fromkeys(each for held in sets for each in held.degraded)
    times = [held.milliseconds["rerank"] for held in sets if "rerank" in held.milliseconds]
    steps = {**found.milliseconds, **({"rerank": sum(times)} if times else {})}
    return replace(found, degraded=tuple(lacking), milliseconds=steps)


def teams_of(
    results: Sequence[Result], groups: Sequence[Group[Hit]], teams: Sequence[str]
) -> tuple[str, ...]:
    """Each result's team; empty if no rankings were mixed."""
    if not teams:
        return ()
    by_group = {id(group): team for group, team in zip(groups, teams, strict=True)}
    return tuple(by_group[id(result.group)] for result in results)


@dataclass(frozen=True, slots=True)
class Mixed:
    """The mixed ranking, and the team that picked each of its groups: "a", "b", or "" for both."""

    ranking: Ranking
    teams: tuple[str, ...]


def mixed(a: Ranking, b: Ranking, mix: Mix, *, grouped: bool) -> Mixed:
    """Both rankings interleaved, with the lower confidence and A's `settled`.

    `grouped`: each document appears once; otherwise each passage. Near-duplicates that the two
    rankings fold under different documents count as one.
    """
    ours = {_key(group, grouped=grouped): group for group in a.groups}
    theirs = _matched(b.groups, a.groups, grouped=grouped)
    drafted = mix(list(ours), list(theirs))
    groups = [theirs[key] if team == "b" else ours[key] for key, team in drafted]
    groups = _ranked(groups)
    hits = sorted((hit for group in groups for hit in _hits(group)), key=lambda hit: hit.rank)
    sure = [each.confidence for each in (a, b) if each.confidence is not None]
    ranking = Ranking(a.settled, a.candidates, tuple(hits), tuple(groups), min(sure, default=None))
    return Mixed(ranking, tuple(team for _, team in drafted))


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
    taken = {_key(group, grouped=grouped) for group in groups}
    found: dict[int, Group[Hit]] = {}
    for group in groups:
        key = _key(group, grouped=grouped)
        under = folded.get(key)
        # If one of their groups folds two of ours, the second keeps its own key.
        if under is not None and under not in taken:
            key = under
            taken.add(under)
        found[key] = group
    return found


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
        Group(renumbered([group.best])[0], renumbered(group.folded), renumbered(group.copies))
        for group in groups
    ]


def _hits(group: Group[Hit]) -> tuple[Hit, ...]:
    return (group.best, *group.folded, *group.copies)
