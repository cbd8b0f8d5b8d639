"""The synonym signal: BM25 of the administrators' synonyms of the question's words.

And `AddedWords`, the same for any words beside the question's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import BooleanField, FloatField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from search.domain import Query, Signal
from search.signals.query_terms import bm25, vector
from search.signals.registry import Inputs, SignalPart, SignalSQL


class AddedWords(SignalPart):
    """A signal that scores words beside the query's own by BM25: 0 for a chunk without one."""

    def sql(self, inputs: Inputs) -> SignalSQL:
        # A subquery: of a constant Postgres would estimate how many chunks hold it, and read all.
        matching = inputs.scope.chunks.filter(
            RawSQL(
                f"ingestion_chunk.lexemes @@ (SELECT %({self.words}_rare)s::tsquery)",
                (),
                output_field=BooleanField(),
            )
        )
        score = RawSQL(bm25("ingestion_chunk", self.words), (), output_field=FloatField())
        return SignalSQL(
            score=f"coalesce({bm25('c', self.words)}, 0)",
            find=matching.order_by(score.desc(), "pk").values("pk")[: inputs.profile.depth],
        )

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        terms = inputs.words.added(self.words, self.language)
        budget = inputs.profile.keyword_budget
        rare = terms.any_of(lambda term: term.chunks_before < budget)
        return {f"{self.words}_weights": vector(terms.weights()), f"{self.words}_rare": rare}


class SynonymSignal(AddedWords):
    """The synonyms of the question's words."""

    signal = Signal.SYNONYM
    label = _("Synonyms")
    advice = _(
        "Finds synonyms of the question's words. Raising it lets a synonym count "
        "as much as the word itself."
    )
    unavailable = _("Synonyms are unavailable; showing other matches.")
    words = "expansion"

    def runs(self, inputs: Inputs) -> bool:
        return super().runs(inputs) and bool(inputs.query.expansions)

    def added(self, query: Query) -> Mapping[str, float]:
        return dict.fromkeys(query.expansions, 1.0)

    def measure(self, scorer: str) -> Any:
        return _("BM25 of synonyms")
