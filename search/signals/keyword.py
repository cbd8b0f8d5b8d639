"""Q2: the keyword signal: BM25 (Robertson & Zaragoza 2009) or another score of the query's words.

BM25 is the inner product of a chunk's term weights with those of the query (`terms`).
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from search.domain import KeywordScorer, Profile, Signal
from search.signals.pruning import pruned
from search.signals.registry import Inputs, SignalPart
from search.signals.sql import SignalSQL
from search.signals.terms import bm25

SCORER_LABELS: dict[KeywordScorer, Any] = {
    KeywordScorer.BM25: "BM25",
    KeywordScorer.BM25_FIXED: _("BM25 without idf"),
    KeywordScorer.TS_RANK: "ts_rank",
    KeywordScorer.TS_RANK_CD: "ts_rank_cd",
    KeywordScorer.OVERLAP: _("share of matched words"),
}
# As in concept-rag: terms of over 2 letters, counted in every word that contains one; no idf;
# k1 1.5, b .75, and a fixed average length of 100 words. At most 2.5 a term.
_BM25_FIXED = r"""(
    SELECT coalesce(sum(tf * (1.5 + 1) / (tf + 1.5 * (1 - 0.75 + 0.75 * words / 100.0))), 0)::float8
    FROM (
        SELECT count(*) FILTER (WHERE strpos(word, sought) > 0) AS tf, count(*) AS words
        FROM (SELECT DISTINCT regexp_split_to_table(lower(%(text)s::text), '\W+')) asked(sought),
             regexp_split_to_table(lower({c}.text), '\s+') word
        WHERE length(sought) > 2 AND word <> ''
        GROUP BY sought
    ) counted
)"""

_SCORES = {
    KeywordScorer.BM25: bm25("{c}"),
    KeywordScorer.TS_RANK: "ts_rank({c}.lexemes, (SELECT any_term FROM question), 1)::float8",
    KeywordScorer.TS_RANK_CD: "ts_rank_cd({c}.lexemes, (SELECT any_term FROM question), 1)::float8",
    KeywordScorer.OVERLAP: (
        "least((SELECT count(*) FROM term WHERE lexeme = ANY(tsvector_to_array({c}.lexemes)))"
        "::float8 / (SELECT greatest(lexemes, 1) FROM question), 1)"
    ),
    KeywordScorer.BM25_FIXED: _BM25_FIXED,
}
# It rereads each chunk's words, so it scores only candidates that BM25 generates.
_FOUND_BY = {KeywordScorer.BM25_FIXED: KeywordScorer.BM25}


class KeywordSignal(SignalPart):
    """Raw scores of 0 or more; 0 for a chunk without a term of the query.

    `bm25` and the Postgres ranks are unbounded above; `overlap` lies in [0, 1].
    """

    signal = Signal.KEYWORD
    label = _("Keywords")
    advice = _(
        "Finds the exact words, above all rare ones. Raising it loses passages "
        "that use other words."
    )
    unavailable = _("Keyword matching is unavailable; showing other matches.")
    weights_table = "question"

    def runs(self, inputs: Inputs) -> bool:
        return True

    def sql(self, inputs: Inputs) -> SignalSQL:
        chunks, profile = inputs.scope.chunks, inputs.profile
        scorer = profile.keyword_scorer
        finder = _FOUND_BY.get(scorer, scorer)
        tables, find, params = pruned(
            chunks,
            profile,
            order=_SCORES[finder].format(c="ingestion_chunk"),
            bm25=bm25("ingestion_chunk"),
        )
        score = f"coalesce({_SCORES[scorer].format(c='c')}, 0)"
        return SignalSQL(score=score, find=find, score_params=params, tables=tables)

    def scorer(self, profile: Profile) -> str:
        return profile.keyword_scorer.value

    def measure(self, scorer: str) -> Any:
        return SCORER_LABELS[KeywordScorer(scorer)]

    def can_engine_score(self, profile: Profile) -> bool:
        # The other scorers need the words' places, or their own reading of the text.
        return profile.keyword_scorer is KeywordScorer.BM25
