"""Candidates as columns -> normalised scores -> a ranking with its explanations. Pure."""

from search.ranking.batch import Batch, Prepared, prepare
from search.ranking.scored_batch import ScoredBatch, score_batch, with_rerank
from search.ranking.supersession import put_behind
from search.ranking.text_boosts import applicable
from search.ranking.tiers import identifiers_lead
