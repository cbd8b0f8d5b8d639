"""The keyword signal: BM25 (Robertson & Zaragoza 2009) or another score of the query's words.

BM25 is the inner product of a chunk's term weights with those of the query (`query_terms`).

Candidates are pruned (ADR 1): only chunks that can reach the top are scored. MaxScore (Turtle &
Flood 1995) in steps that Postgres can run: the chunks with a rare term set a threshold (the bar);
of the others only those are scored whose terms could exceed it. No term adds more than its weight
in the query times k1 + 1, however often a chunk contains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import BooleanField, FloatField, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from common.database import named
from ingestion.lexical.bm25_weights import K1
from ingestion.models import Chunk
from search.domain import KeywordScorer, Profile, Signal
from search.signals.query_terms import bm25
from search.signals.registry import Inputs, SignalPart, SignalSQL

# The chunks with the rarest terms, up to this many in total, set the bar, and those with the next
# one beside others, rarest first, until chance alone would bring PAIR_CHUNKS: a term in thousands
# of chunks lifts few of them over the bar by itself (ADR 1).
SEED_CHUNKS = 1_000
PAIR_CHUNKS = 100
# The bar is the score at this rank: this many are exact. One page; it loses less than 1% of a list
# of 100; 30 would lose none, for a sixth more time (ADR 1).
SURE_RANKS = 10

# The common terms that can lift a chunk over the bar. `most` is a term's maximum score, `rest` the
# sum for it and all commoner terms. A chunk whose rarest common term has a `rest` below the bar
# is pruned; if that term alone does not reach the bar, the chunk must also contain one of the
# others that does, with all commoner ones. The index answers such pairs from its posting lists.
# Only terms within the budget begin a pair: under a filter with a low bar the search does
# not scan every chunk. The index compares each of their chunks with all terms, so that a question
# with more than FEW_TERMS has a share of the budget.
FEW_TERMS = 6
PAIRS = """
SELECT string_agg(
           CASE WHEN most > score THEN quoted
                ELSE quoted || ' & (' || (
                    SELECT string_agg(commoner.quoted, ' | ') FROM common commoner
                    WHERE commoner.rest < common.rest AND common.most + commoner.rest > score
                ) || ')'
           END, ' | ')::tsquery AS terms
FROM common, bar
WHERE rest > score AND chunks_before * greatest(terms, {few}) / {few} < %(budget)s AND seeks
"""

_TABLES = """
seed({columns}) AS MATERIALIZED ({seed}),
bar AS MATERIALIZED (
    SELECT coalesce((SELECT {bm25} FROM seed ORDER BY {bm25} DESC NULLS LAST
                     OFFSET {sure_ranks} - 1 LIMIT 1), 0) AS score,
           (SELECT count(*) FROM seed) AS seeds
),
common AS MATERIALIZED (
    SELECT quoted::text, chunks_before, seeks, count(*) OVER () AS terms, weight * {factor} AS most,
           sum(weight * {factor}) OVER (ORDER BY chunks DESC, lexeme DESC) AS rest
    FROM term WHERE chunks_before >= %(common_from)s
),
hopeful AS MATERIALIZED ({hopeful}),
other(id, score) AS MATERIALIZED (
    SELECT * FROM ({other}) found
    LIMIT greatest(%(budget)s - (SELECT seeds FROM bar), 0)
),
"""

# Computed once: of a constant Postgres would estimate how many chunks hold it, and read them all.
_SEED_TERMS = "(SELECT %(seed_terms)s::tsquery)"

# Placeholder for the terms in the statement of either part.
_PLACEHOLDER = "searched_terms"
_BM25 = bm25("ingestion_chunk")

# Limited before the UNION, whose deduplication of thousands of chunks is slow.
_FIND = """
SELECT id FROM (
    (SELECT id, score FROM seed ORDER BY score DESC NULLS LAST, id LIMIT {depth})
    UNION
    (SELECT id, score FROM other ORDER BY score DESC NULLS LAST, id LIMIT {depth})
) best
ORDER BY score DESC NULLS LAST, id LIMIT {depth}
"""


def pruned(
    chunks: QuerySet[Chunk], profile: Profile, order: str
) -> tuple[str, str, dict[str, Any]]:
    """Common tables, the statement that selects the best `depth` ids by `order`, and parameters.

    `order` is an expression over `ingestion_chunk`. Ordered by BM25 the best
    `SURE_RANKS` equal those of scoring every chunk, unless the budget ran out; by another order
    they are the best of the chunks that BM25 does not prune.
    """
    # One column if the order is BM25: Postgres would compute two equal ones twice.
    scores = {"score": order} | ({} if order == _BM25 else {"bm25": _BM25})
    seed_sql, params = named(_scored(chunks, scores), "scored")
    other_sql = seed_sql  # compiled once for both if their columns are the same
    if order != _BM25:
        other_sql, other_params = named(_scored(chunks, {"score": order}), "other")
        params |= other_params
    tables = _TABLES.format(
        columns=", ".join(("id", *scores)),
        seed=seed_sql.replace(_PLACEHOLDER, _SEED_TERMS) + " LIMIT greatest(%(budget)s / 2, 1)",
        bm25=list(scores)[-1],
        sure_ranks=SURE_RANKS,
        factor=K1 + 1,
        hopeful=PAIRS.format(few=FEW_TERMS),
        other=other_sql.replace(_PLACEHOLDER, "(SELECT terms FROM hopeful)"),
    )
    return tables, _FIND.format(depth=int(profile.depth)), params


def _scored(chunks: QuerySet[Chunk], scores: dict[str, str]) -> QuerySet[Chunk, Any]:
    """The chunks that match the terms in place of _PLACEHOLDER, unordered, with their scores."""
    holding = RawSQL(  # constant text: the values come from the common tables
        f"ingestion_chunk.lexemes @@ {_PLACEHOLDER}", (), output_field=BooleanField()
    )
    columns = {name: RawSQL(sql, (), FloatField()) for name, sql in scores.items()}
    scored = chunks.filter(holding).order_by().annotate(**columns)
    rows: QuerySet[Chunk, Any] = scored.values("pk", *scores)
    return rows


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
        SELECT count(*) FILTER (WHERE strpos(word, lookup) > 0) AS tf, count(*) AS words
        FROM (SELECT DISTINCT regexp_split_to_table(lower(%(text)s::text), '\W+')) typed(lookup),
             regexp_split_to_table(lower({c}.text), '\s+') word
        WHERE length(lookup) > 2 AND word <> ''
        GROUP BY lookup
    ) counted
)"""

# The labels D to A; by default a C, a folded word, would count twice as much as an exact one.
_BY_LABEL = "('{{0.1, 0.05, 0.4, 1}}', {c}.lexemes, %(any_term)s::tsquery, 1)::float8"
_SCORES = {
    KeywordScorer.BM25: bm25("{c}"),
    KeywordScorer.TS_RANK: f"ts_rank{_BY_LABEL}",
    KeywordScorer.TS_RANK_CD: f"ts_rank_cd{_BY_LABEL}",
    KeywordScorer.OVERLAP: (
        "least((SELECT count(*) FROM term WHERE lexeme = ANY(tsvector_to_array({c}.lexemes)))"
        "::float8 / greatest(%(lexemes)s::bigint, 1), 1)"
    ),
    KeywordScorer.BM25_FIXED: _BM25_FIXED,
}
# It rereads each chunk's words, so it scores only candidates that BM25 generates.
_GENERATORS = {KeywordScorer.BM25_FIXED: KeywordScorer.BM25}


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
    words = "question"

    def runs(self, inputs: Inputs) -> bool:
        return True

    def sql(self, inputs: Inputs) -> SignalSQL:
        chunks, profile = inputs.scope.chunks, inputs.profile
        scorer = profile.keyword_scorer
        finder = _GENERATORS.get(scorer, scorer)
        order = _SCORES[finder].format(c="ingestion_chunk")
        tables, find, params = pruned(chunks, profile, order)
        score = f"coalesce({_SCORES[scorer].format(c='c')}, 0)"
        return SignalSQL(score=score, find=find, score_params=params, tables=tables)

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        terms, searched = inputs.words.terms.items, sum(inputs.words.configs.values())
        whole = [each for each in terms if each.chunks_before + each.chunks <= SEED_CHUNKS]
        common, pairs = [each for each in terms[len(whole) :] if each.seeks], ""
        if len(common) > 1:
            most = common[1].chunks_before + PAIR_CHUNKS * searched / common[0].chunks
            beside = " | ".join(each.quoted for each in common[1:] if each.chunks_before < most)
            pairs = f"{common[0].quoted} & ({beside})"
        elif sum(each.chunks for each in whole) < inputs.profile.depth:
            whole = list(terms)  # a lone common term: the rare ones fill no list
        # The parts of names that the texts hold seek together: most passages with one of them alone
        # have nothing to do with the name, and are many.
        alone = [each.quoted for each in whole if each.seeks]
        together = " & ".join(each.quoted for each in whole if not each.seeks)
        seed = " | ".join(filter(None, (*alone, together, pairs)))
        return {"seed_terms": seed or None, "common_from": sum(each.chunks for each in whole)}

    def scorer(self, profile: Profile) -> str:
        return profile.keyword_scorer.value

    def measure(self, scorer: str) -> Any:
        return SCORER_LABELS[KeywordScorer(scorer)]

    def can_engine_score(self, profile: Profile) -> bool:
        # The other scorers need the words' places, or their own reading of the text.
        return profile.keyword_scorer is KeywordScorer.BM25
