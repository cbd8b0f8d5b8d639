"""Candidates as columns -> strengths -> a ranking with its explanations. Pure."""

from search.ranking.batch import Batch, Prepared, prepare
from search.ranking.pins_and_tiers import identifiers_lead
from search.ranking.rank import Ranked, rank, reranked
from search.ranking.superseded_and_grouping import put_behind
from search.ranking.text_boosts import applicable
