"""Q6: two rankings of one question as one, for an experiment that lets clicks compare them. Pure.

Nothing is lost: what either ranking holds stands in the mixed one, under the explanation of the
ranking whose pick it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from search.domain import Hit
from search.domain.trials import Mix
from search.engine.second_try import Ranking
from search.ranking.grouping import Group


@dataclass(frozen=True, slots=True)
class Mixed:
    """The mixed ranking, and whose pick each of its groups is: "a", "b", or "" for both's."""

    ranking: Ranking
    teams: tuple[str, ...]


def mixed(a: Ranking, b: Ranking, mix: Mix, *, grouped: bool) -> Mixed:
    """Both rankings as one. Its confidence is the lower one, its weights are A's.

    `grouped`: each document has one place; otherwise each passage. Near-duplicates that the one
    ranking folds under another document than the other one does are the same place.
    """
    ours = {_key(group, grouped=grouped): group for group in a.groups}
    theirs = _matched(b.groups, a.groups, grouped=grouped)
    drafted = mix(list(ours), list(theirs))
    groups = [theirs[key] if team == "b" else ours[key] for key, team in drafted]
    groups = _ranked(groups)
    hits = sorted((hit for group in groups for hit in _hits(group)), key=lambda hit: hit.rank)
    sure = [each.confidence for each in (a, b) if each.confidence is not None]
    ranking = Ranking(a.weights, tuple(hits), tuple(groups), min(sure, default=None))
    return Mixed(ranking, tuple(team for _, team in drafted))


def _key(group: Group, *, grouped: bool) -> int:
    candidate = group.best.candidate
    return candidate.document_id if grouped else candidate.chunk_id


def _matched(
    groups: Sequence[Group], others: Iterable[Group], *, grouped: bool
) -> dict[int, Group]:
    """The groups by key: by that of the other ranking's group that folds their document away."""
    folded = {
        copy.candidate.document_id: _key(other, grouped=grouped)
        for other in others
        if grouped
        for copy in other.copies
    }
    taken = {_key(group, grouped=grouped) for group in groups}
    found: dict[int, Group] = {}
    for group in groups:
        key = _key(group, grouped=grouped)
        under = folded.get(key)
        # Two of ours under one of theirs: the second keeps a place of its own.
        if under is not None and under not in taken:
            key = under
            taken.add(under)
        found[key] = group
    return found


def _ranked(groups: Sequence[Group]) -> list[Group]:
    """The groups with one rank for each passage: near to what it was, the groups in their order."""
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


def _hits(group: Group) -> tuple[Hit, ...]:
    return (group.best, *group.folded, *group.copies)
