"""Candidates as columns -> strengths -> a ranking with its explanations. Pure."""

from search.ranking.batch import Batch, Prepared, prepare
from search.ranking.rank import Ranked, rank, reranked
from search.ranking.supersession import put_behind
from search.ranking.text_boosts import applicable
from search.ranking.tiers import identifiers_lead
