"""The title signal: the share of the query's idf mass that is in the names above a text.

The names are the document's title and the headings of a section: of the sections that a chunk
holds, the one with the largest share counts (`coverage`). Without sections the title counts alone.
`once` and `per_term` are concept-rag's rule: 10 when any term is in the title, or 10 for each.
"""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from common.database import named
from search.domain import Profile, Signal, TitleScorer
from search.signals.registry import Inputs, SignalPart, SignalSQL

_COVERED = "FROM term WHERE idf > 0 AND d.title_terms @@ quoted"
_SCORES = {
    TitleScorer.COVERAGE: f"(SELECT coalesce(sum(idf), 0) {_COVERED}) / %(total_idf)s::float8",
    TitleScorer.ONCE: f"(SELECT CASE WHEN count(*) > 0 THEN 10 ELSE 0 END {_COVERED})::float8",
    TitleScorer.PER_TERM: f"(SELECT 10 * count(*) {_COVERED})::float8",
}
# Most names hold no term of the query: then the sum over its terms need not be made.
_HOLDS = "CASE WHEN d.title_terms @@ %(any_term)s::tsquery THEN {score} ELSE 0 END"
# The positions of `section_terms` are the numbers of the sections.
_BEST_SECTION = """
CASE WHEN c.section_terms IS NULL THEN {title}
     WHEN c.section_terms @@ %(any_term)s::tsquery THEN (
         SELECT max(covered) FROM (
             SELECT sum(idf) AS covered
             FROM unnest(c.section_terms) named JOIN term USING (lexeme), unnest(positions) section
             GROUP BY section
         ) sections
     ) / %(total_idf)s::float8
     ELSE 0 END
""".strip()


# The same order from a row for each term and document, as the index finds them.
_SUMS = {
    TitleScorer.COVERAGE: "coalesce(sum(idf), 0)",
    TitleScorer.ONCE: "0 * count(*)",
    TitleScorer.PER_TERM: "count(*)",
}

# The documents of each rare term; common terms count only in these.
# Then first chunks in the order of the titles, until so many are in the scope: a word may be in the
# titles of hundreds of documents. The scope decides what may be read; on a site with many
# collections those that are not searched have most titles.
_TITLED = """
SELECT first.id
FROM (
    SELECT d.id, d.current_id, {sum} + CASE WHEN EXISTS (
               SELECT FROM term WHERE chunks_before >= %(budget)s
           ) THEN (SELECT {sum} FROM term WHERE chunks_before >= %(budget)s
                   AND d.title_terms @@ quoted) ELSE 0 END AS strength
    FROM term JOIN ingestion_document d ON d.title_terms @@ term.quoted
    WHERE chunks_before < %(budget)s AND d.collection_id = ANY(ARRAY(SELECT id FROM readable))
    GROUP BY d.id
    ORDER BY strength DESC, d.id
) titled, LATERAL ({first}) first(id)
ORDER BY titled.strength DESC, titled.id
LIMIT {depth}
"""


class TitleSignal(SignalPart):
    """In [0, 1] for `coverage`; a document's candidate is its first chunk."""

    signal = Signal.TITLE
    label = _("Title")
    advice = _(
        "Prefers passages whose document's title or section's heading matches. Raising it hides "
        "good passages under uninformative ones."
    )
    unavailable = _("Title matching is unavailable; showing other matches.")

    def runs(self, inputs: Inputs) -> bool:
        return True

    def sql(self, inputs: Inputs) -> SignalSQL:
        profile = inputs.profile
        strength = _SUMS[profile.title_scorer]
        # Only the current version's chunks are searchable. By it the first one is one look into an
        # index; by the document it would be found among all of its chunks.
        current = RawSQL(
            "ingestion_chunk.version_id = titled.current_id", (), output_field=BooleanField()
        )
        first = inputs.scope.chunks.filter(current, ordinal=0).order_by().values("pk")[:1]
        first_sql, params = named(first, "titled")
        find = _TITLED.format(sum=strength, first=first_sql, depth=int(profile.depth))
        score = _HOLDS.format(score=_SCORES[profile.title_scorer])
        if profile.title_scorer is TitleScorer.COVERAGE:
            score = _BEST_SECTION.format(title=score)
        return SignalSQL(score=score, find=find, score_params=params)

    def scorer(self, profile: Profile) -> str:
        return profile.title_scorer.value

    def measure(self, scorer: str) -> Any:
        return _("coverage") if scorer == TitleScorer.COVERAGE else scorer.replace("_", " ")
