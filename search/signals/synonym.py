"""The synonym signal: BM25 of the administrators' synonyms of the question's words.

And `AddedWords`, the same for any words beside the question's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import BooleanField, FloatField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from ingestion.lexical.bigrams import spaced
from search.domain import Signal
from search.signals.query_terms import bm25, lexemes, terms, weights
from search.signals.registry import Inputs, SignalPart, SignalSQL


class AddedWords(SignalPart):
    """A signal that scores words beside the query's own by BM25: 0 for a chunk without one.

    `weights_sql` are the common tables, the one of `weights_table` with their weights and rare
    terms (`added_words`).
    """

    def sql(self, inputs: Inputs) -> SignalSQL:
        table = self.weights_table
        matching = inputs.scope.chunks.filter(
            RawSQL(  # constant text: the values come from the common tables
                f"ingestion_chunk.lexemes @@ (SELECT rare_term FROM {table})",
                (),
                output_field=BooleanField(),
            )
        )
        score = RawSQL(bm25("ingestion_chunk", table), (), output_field=FloatField())
        return SignalSQL(
            score=f"coalesce({bm25('c', table)}, 0)",
            find=matching.order_by(score.desc(), "pk").values("pk")[: inputs.profile.depth],
            tables=self.weights_sql,
        )


def added_words(table: str, lexeme_table: str, prefix: str, factor: str = "1") -> str:
    """The common tables of added words: `lexeme_table`, their terms, and `table` with the weights.

    All but the last have the prefix. `factor` is an SQL expression over `term`.
    """
    return f"""
{lexeme_table}
{terms(prefix)},
{table} AS MATERIALIZED (
    SELECT
        {weights(prefix, factor=factor)},
        (SELECT string_agg(quoted, ' | ')::tsquery FROM {prefix}term
         WHERE chunks_before < %(budget)s) AS rare_term
),
"""


# The keyword signal already scores the query's own lexemes. No other one is repeated in the query.
_LEXEMES = lexemes(
    "%(expansions)s::text[]",
    "expansion_",
    times="1",
    condition="lexeme NOT IN (SELECT lexeme FROM lexeme)",
)


class SynonymSignal(AddedWords):
    """The synonyms of the question's words."""

    signal = Signal.SYNONYM
    label = _("Synonyms")
    advice = _(
        "Finds synonyms of the question's words. Raising it lets a synonym count "
        "as much as the word itself."
    )
    unavailable = _("Synonyms are unavailable; showing other matches.")
    weights_table = "expansion"
    weights_sql = added_words("expansion", f"{_LEXEMES},", "expansion_")

    def runs(self, inputs: Inputs) -> bool:
        return super().runs(inputs) and bool(inputs.query.expansions)

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        return {"expansions": list(map(spaced, inputs.query.expansions))}

    def measure(self, scorer: str) -> Any:
        return _("BM25 of synonyms")
