"""Q4-Q6: candidates as columns -> strengths -> a ranking with its explanations. Pure."""

from search.ranking.batch import Batch, Prepared, prepare
from search.ranking.pins_and_tiers import identifiers_lead
from search.ranking.rank import Ranked, put_behind, rank, reranked
from search.ranking.text_boosts import applicable
