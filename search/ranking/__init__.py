"""Q4-Q6: raw scores -> strengths -> a ranking. Pure functions on frozen values."""

from search.ranking.boosts import applicable
from search.ranking.fusion import RankingOptions, rank
from search.ranking.tiers import identifiers_lead

__all__ = ["RankingOptions", "applicable", "identifiers_lead", "rank"]
