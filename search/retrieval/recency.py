"""Q3: the recency signal: the age of a chunk's document version."""

from __future__ import annotations

from search.domain import Profile
from search.retrieval.sql import SignalSQL

_SCORE = """
(SELECT power(0.5, greatest(extract(epoch FROM now() - v.created), 0)
                   / 86400 / %(recency_half_life)s)::float8
 FROM ingestion_documentversion v WHERE v.id = c.version_id)
"""


def recency(profile: Profile) -> SignalSQL:
    """The recency signal, in (0, 1]: 1 for now, halved by each half-life. Generates no candidates.

    Exponential decay as in Li & Croft, Time-based language models, CIKM 2003.
    """
    return SignalSQL(
        score=_SCORE, score_params={"recency_half_life": float(profile.recency_half_life)}
    )
