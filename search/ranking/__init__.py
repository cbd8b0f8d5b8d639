"""Q4-Q6: raw scores -> strengths -> a ranking. Pure functions on frozen values."""

from search.ranking.fusion import RankingOptions, rank

__all__ = ["RankingOptions", "rank"]
