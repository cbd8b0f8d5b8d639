"""Q3: the title signal: how much of the query a document's title covers, with its own index.

`coverage` is the share of the query's idf mass that is in the title. `once` and `per_term`
are concept-rag's rule: 10 when any term is in the title, or 10 for each.
"""

from __future__ import annotations

from django.db.models import BooleanField, FloatField, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.models import Chunk
from search.domain import Profile, TitleScorer
from search.retrieval.sql import SignalSQL

_COVERED = "FROM term WHERE lexeme = ANY(tsvector_to_array({d}.title_terms))"
_SCORES = {
    TitleScorer.COVERAGE: (
        "(SELECT coalesce(sum(idf), 0) " + _COVERED + ") / (SELECT total_idf FROM question)"
    ),
    TitleScorer.ONCE: "(SELECT CASE WHEN count(*) > 0 THEN 10 ELSE 0 END " + _COVERED + ")::float8",
    TitleScorer.PER_TERM: "(SELECT 10 * count(*) " + _COVERED + ")::float8",
}


def title(chunks: QuerySet[Chunk], profile: Profile) -> SignalSQL:
    """The title signal, in [0, 1] for `coverage`; a document's candidate is its first chunk."""
    score = _SCORES[profile.title_scorer]
    found = chunks.filter(ordinal=0).filter(
        RawSQL(  # constant text: the values come from the common tables
            "ingestion_document.title_terms @@ (SELECT rare_term FROM question)",
            (),
            output_field=BooleanField(),
        ),
        # Joins the document's table, which the raw condition reads.
        document__title_terms__isnull=False,
    )
    strength = RawSQL(score.format(d="ingestion_document"), (), output_field=FloatField())
    ordered = found.order_by(strength.desc(), "pk").values("pk")[: profile.depth]
    return SignalSQL(score=f"coalesce({score.format(d='d')}, 0)", find=ordered)
