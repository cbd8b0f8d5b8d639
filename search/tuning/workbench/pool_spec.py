"""The pool specification: everything in a profile and the library that decides raw scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from django.core.cache import cache
from django.db.models import Count, Max, Sum

from ingestion.models import ChunkEdit, Collection, Document
from ingestion.models.statistics import CorpusChange, CorpusStatistics
from search.domain import GENERATORS, OPTIONAL, Boost, KeywordScorer, Profile, TitleScorer, row_type
from search.engine.configuration import Configuration
from search.engine.rank import fingerprint_for
from search.ranking.boosts import as_json, by_sought, parse_boosts
from search.signals import registry

# The depths of pools: the first of these that is not below the profile's, so that its depth may
# be raised a little without a rebuild.
LEVELS = (150, 300, 500)
STAMP_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Width:
    """A pool's specification: everything in a profile that decides what the database returns.

    `reranker` is the fingerprint of the reranker whose strengths it holds; empty: of none.
    """

    depth: int
    keyword_scorer: KeywordScorer
    keyword_budget: int
    title_scorer: TitleScorer
    boosts: tuple[Boost, ...] = ()
    reranker: str = ""

    @classmethod
    def of(cls, profile: Profile) -> Self:
        return cls(
            profile.depth,
            profile.keyword_scorer,
            profile.keyword_budget,
            profile.title_scorer,
            by_sought(profile.boosts),
            fingerprint_for(profile),
        )

    def joined(self, other: Self) -> Self:
        """The union of both specifications, which score alike."""
        boosts = by_sought((*self.boosts, *other.boosts))
        reranker = self.reranker or other.reranker
        depth = max(self.depth, other.depth)
        return replace(self, depth=depth, boosts=boosts, reranker=reranker)

    def scores_like(self, other: Self) -> bool:
        return self._scorers() == other._scorers()

    def _scorers(self) -> tuple[str, int, str]:
        return self.keyword_scorer.value, self.keyword_budget, self.title_scorer.value

    def profile(self) -> Profile:
        """A profile for a wide retrieval, with room for greater depths."""
        return Profile(
            "pool",
            1,
            {},
            depth=next(level for level in LEVELS if level >= self.depth),
            keyword_scorer=self.keyword_scorer,
            keyword_budget=self.keyword_budget,
            title_scorer=self.title_scorer,
            boosts=self.boosts,
        )

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "boosts": as_json(self.boosts)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `as_json`."""
        return cls(
            int(value["depth"]),
            KeywordScorer(value["keyword_scorer"]),
            int(value["keyword_budget"]),
            TitleScorer(value["title_scorer"]),
            # Parsed one by one: two profiles together may exceed the limit for one.
            tuple(boost for row in value["boosts"] for boost in parse_boosts([row])),
            str(value.get("reranker", "")),
        )

    def key(self, configured: Configuration) -> str:
        """A key of everything that affects raw scores, besides depth, boosts and reranker.

        With the layout of a stored row: pools of another version of this program are built again.
        """
        space = configured.space
        return digest(
            row_type(0).descr,
            self._scorers(),
            GENERATORS,  # each has a column in a pool
            [signal for signal in OPTIONAL if registry.is_available(signal)],
            (space.pk, space.fingerprint) if space else None,
            configured.patterns,
            configured.synonyms,
            sorted(configured.pins.items()),
            sorted((query, sorted(hidden)) for query, hidden in configured.hides.items()),
        )


def corpus_stamp() -> str:
    """A version token that changes with the library's passages and their term statistics."""
    documents = Document.objects.kept()
    return digest(
        documents.aggregate(Count("pk"), Max("updated"), Sum("current_id")),
        Collection.objects.kept().aggregate(Count("pk"), Sum("pk")),
        ChunkEdit.objects.aggregate(Count("pk"), Max("updated")),
        _sums(),
        list(CorpusStatistics.objects.order_by("pk").values_list("weighed_length", flat=True)),
    )


def recent_corpus_stamp() -> str:
    """`corpus_stamp`, cached for STAMP_SECONDS: it reads every document, and sliders move often."""
    return str(cache.get_or_set("library:stamp", corpus_stamp, STAMP_SECONDS))


def _sums() -> dict[str, int]:
    """The folded and unfolded totals, summed: folding does not change a score."""
    parts = [
        model.objects.aggregate(chunks=Sum("chunks"), length=Sum("total_length"))
        for model in (CorpusStatistics, CorpusChange)
    ]
    return {name: sum(part[name] or 0 for part in parts) for name in ("chunks", "length")}


def digest(*parts: object) -> str:
    """A hash of the parts."""
    return hashlib.sha256(json.dumps(parts, default=repr).encode()).hexdigest()
