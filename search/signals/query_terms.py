"""The words of a question: its lexemes with their frequencies and weights, as common tables.

The weight of a lexeme is idf * times * (k3 + 1) / (times + k3), where it occurs `times` in the
query, and the idf is ln(1 + (N - df + .5) / (df + .5)) (Robertson & Zaragoza 2009, ADR 1). N and df
are those of the collections that the viewer may read, so that scores reveal nothing about the
others.

The query is read under each text configuration of the searched chunks. A word's N counts the chunks
of the configurations that read it; stop words of the query's language, and of the language of most
chunks, are dropped from every reading; only the heaviest terms are looked up (ADR 1).

A compound is also read as one word, "half-life" as "halflife", which chunks with the compound hold
as well: it finds both spellings, and the compound's own lexeme need not be looked up. Parts of a
name are terms of BM25, too, without an idf of their own (ADR 44).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingestion.lexical.bigrams import spaced
from ingestion.lexical.compounds import joined_sql, names_sql, quoted_sql
from ingestion.lexical.second_forms import FOLDED, acronyms_sql, folded_sql, numbers_sql
from search.domain import K3, Query
from search.query.language import SURE, configs_of

# The most terms of a query that are looked up, those with the greatest weights (ADR 1).
MAX_TERMS = 64
# The occurrences that a part of a name in the question counts. .2 to .5 do equally well (ADR 44).
PART = 0.33

# The lexemes of the array `texts` under each searched configuration, with the number of their
# occurrences and of the chunks of the configurations that yield them. `to_tsvector` numbers the
# words of a text, stop words included, and all configurations split a text alike: a configuration
# without a lexeme at a position where another one has one dropped a stop word there.
# Stop words of the query's configuration (`own`) and of most chunks' (`main`) are dropped from all
# readings, except that `own` keeps its words. A text of such words alone keeps every reading.
# The joined reading of a compound stands at the compound's place.
_LEXEMES = """
{prefix}compound AS MATERIALIZED (
    SELECT DISTINCT text, text_config, whole.lexeme AS compound, joined.lexeme
    FROM unnest({texts}) WITH ORDINALITY item(content, text),
         {compounds} parted, config,
         unnest(to_tsvector(config.text_config::regconfig, parted.compound)) whole,
         unnest(to_tsvector(config.text_config::regconfig, parted.joined)) joined
    WHERE 1 = ANY(whole.positions)
),
{prefix}read AS MATERIALIZED (
    SELECT text, places.place, text_config, chunks, lexeme, share
    FROM unnest({texts}) WITH ORDINALITY item(content, text),
         LATERAL (SELECT content AS said, 1 AS share, 0 AS place {parts}) readings, config,
         unnest(to_tsvector(config.text_config::regconfig, said)) read,
         LATERAL (SELECT readings.place + unnest(read.positions)) places(place)
    {acronyms}
),
{prefix}word AS MATERIALIZED (
    SELECT text, place, text_config, chunks, lexeme, share, by_main, is_joined,
           stays OR NOT bool_or(stays AND place < {acronym_place}) OVER (PARTITION BY text) AS stays
    FROM (
        SELECT said.*, text_config = main AS by_main,
               text_config = own OR bool_or(text_config = main) OVER here
                                    AND bool_or(text_config = own) OVER here AS stays
        FROM (
            SELECT *, false AS is_joined FROM {prefix}read
            UNION ALL
            SELECT text, place, text_config, chunks, c.lexeme, share, true
            FROM {prefix}read r JOIN {prefix}compound c USING (text, text_config)
            WHERE r.lexeme = c.compound
        ) said, language
        WINDOW here AS (PARTITION BY text, place)
    ) read
),
{prefix}lexeme AS MATERIALIZED (
    SELECT lexeme, {times} AS times, sum(chunks) AS searched, bool_or(by_main) AS by_main,
           bool_and(is_joined) AS is_joined
    FROM (
        SELECT lexeme, text_config, by_main, chunks, bool_and(is_joined) AS is_joined,
               coalesce(nullif(count(*) FILTER (WHERE stays AND share = 1), 0),
                        max(share) FILTER (WHERE stays)) AS occurrences
        FROM {prefix}word
        GROUP BY lexeme, text_config, by_main, chunks
    ) read
    WHERE {condition}
    GROUP BY lexeme
    HAVING max(occurrences) > 0
)
"""
# The parts of the text's names, its numbers without separators and its words without accents, as if
# said behind its last word.
_PARTS = """
UNION ALL SELECT string_agg(parts, ' '), {part}, 10000 FROM {names} named
UNION ALL SELECT string_agg(joined, ' '), 1, 20000 FROM {numbers} numbers
UNION ALL SELECT string_agg(folded, ' '), {folded}, 30000 FROM {folds} folds
"""
_ACRONYM_PLACE = 40_000
_ACRONYMS = """
UNION ALL
SELECT text, {place} + nth, text_config, chunks, acronym, 1
FROM unnest({texts}) WITH ORDINALITY item(content, text), config, {acronyms} acronyms
"""
# The frequencies and weights of the lexemes of a table `lexeme` in the searched collections.
# A lexeme of `main` has the idf of the configurations that yield it. The readings of a word under
# the others share one, like the synonyms of Pirkola 1998: df adds up over all readings of the word,
# N over the configurations that read it. Otherwise the few chunks that hold “bearings” would
# outweigh those that hold its stem. Of a lexeme in more chunks than its configurations have, most
# belong to another word in another language: it counts by itself, hence next to nothing.
# A compound is dropped if its joined reading finds as many chunks; where chunks were read before
# there were joined readings, both are looked up, with one idf as for the readings of a word.
# A lexeme is looked up verbatim in the index, so it is quoted, never parsed again.
_TERMS = """
{prefix}counted AS MATERIALIZED (
    SELECT lexeme, sum(chunks) AS chunks
    FROM (
        SELECT lexeme, chunks FROM ingestion_termfrequency
        WHERE lexeme = ANY(ARRAY(SELECT lexeme FROM {prefix}lexeme))
          AND collection_id IN (SELECT id FROM readable)
        UNION ALL
        SELECT lexeme, chunks FROM ingestion_termchange
        WHERE lexeme = ANY(ARRAY(SELECT lexeme FROM {prefix}lexeme))
          AND collection_id IN (SELECT id FROM readable)
    ) parts
    GROUP BY lexeme
    HAVING sum(chunks) > 0
),
{prefix}pair AS (
    SELECT DISTINCT c.compound, c.lexeme AS joined, joined.chunks >= whole.chunks AS finds_all
    FROM {prefix}compound c JOIN {prefix}counted whole ON whole.lexeme = c.compound
    JOIN {prefix}counted joined ON joined.lexeme = c.lexeme
),
{prefix}frequency AS MATERIALIZED (
    SELECT lexeme, chunks FROM {prefix}counted
    WHERE lexeme NOT IN (SELECT compound FROM {prefix}pair WHERE finds_all)
),
{prefix}pool AS (
    SELECT lexeme, max(held) AS held, max(searched) AS searched
    FROM (
        SELECT lexeme, sum(f.chunks) OVER here AS held, sum(said.chunks) OVER here AS searched
        FROM (
            SELECT text, place, lexeme, coalesce(sum(chunks) FILTER (WHERE NOT is_joined), 0)
                   AS chunks
            FROM {prefix}word WHERE stays
            GROUP BY text, place, lexeme
        ) said LEFT JOIN {prefix}frequency f USING (lexeme)
        WINDOW here AS (PARTITION BY text, place)
    ) readings
    GROUP BY lexeme
),
{prefix}term AS MATERIALIZED (
    SELECT lexeme, chunks, times, idf, weight,
           sum(chunks) OVER (ORDER BY chunks, lexeme) - chunks AS chunks_before,
           {quoted} AS quoted,
           times >= {folded} OR EXISTS (SELECT lexeme FROM {prefix}lexeme WHERE times >= 1
                                 EXCEPT SELECT lexeme FROM {prefix}counted) AS seeks
    FROM (
        SELECT lexeme, chunks, times, CASE WHEN times < 1 THEN 0 ELSE idf END AS idf,
               idf * (times * ({k3} + 1) / (times + {k3}))::float8 AS weight
        FROM (
            SELECT lexeme, f.chunks, times,
                   ln(1 + (greatest(n - df, 0) + 0.5) / (df + 0.5))::float8 AS idf
            FROM {prefix}frequency f JOIN {prefix}lexeme l USING (lexeme)
            JOIN {prefix}pool pool USING (lexeme),
            LATERAL (SELECT (l.by_main OR f.chunks > l.searched) AND NOT EXISTS (
                         SELECT FROM {prefix}pair
                         WHERE NOT finds_all AND lexeme IN (compound, joined)) AS alone) kind,
            LATERAL (SELECT CASE WHEN alone THEN l.searched ELSE pool.searched END AS n,
                            CASE WHEN alone THEN f.chunks ELSE pool.held END AS df) sums
        ) found
        ORDER BY weight DESC, lexeme
        LIMIT {most}
    ) heaviest
)
"""
# The weights of the terms as a vector, indexed by the term ids of chunks.
_WEIGHTS = """
(SELECT ('{{' || string_agg(id || ':' || weight, ',') || '}}/1000000000')::sparsevec
 FROM (SELECT steelyard_term_id(lexeme) AS id, max(weight * {factor})::real AS weight
       FROM {prefix}term term GROUP BY 1) weights) AS weights
"""


def lexemes(
    texts: str,
    prefix: str = "",
    *,
    times: str = "max(occurrences)",
    condition: str = "true",
    part: float = 0,
) -> str:
    """Common tables `compound`, `read`, `word` and `lexeme` of the array of texts `texts`.

    All names have the prefix. `times` aggregates a lexeme's `occurrences` over the configurations;
    `condition` restricts the lexemes. A part of a name counts as `part` occurrences; 0: none.
    """
    return _LEXEMES.format(
        texts=texts,
        compounds=f"LATERAL {joined_sql('content')}",
        parts=_PARTS.format(
            names=names_sql("content"),
            part=part,
            numbers=numbers_sql("content", networks=False),
            folds=folded_sql("content"),
            folded=FOLDED,
        )
        if part
        else "",
        acronyms=_ACRONYMS.format(
            texts=texts,
            place=_ACRONYM_PLACE,
            acronyms=f"LATERAL {acronyms_sql('content', 'config.text_config::regconfig')}",
        )
        if part
        else "",
        acronym_place=_ACRONYM_PLACE,
        prefix=prefix,
        times=times,
        condition=condition,
    ).strip()


def terms(prefix: str = "") -> str:
    """Common tables `counted`, `pair`, `frequency`, `pool` and `term` for the table `lexeme`."""
    quoted = quoted_sql("lexeme")
    return _TERMS.format(
        prefix=prefix, k3=float(K3), most=MAX_TERMS, quoted=quoted, folded=FOLDED
    ).strip()


def weights(prefix: str = "", factor: str = "1") -> str:
    """The column `weights` of a query's row, which BM25 multiplies with the chunks' terms.

    `factor` is an expression over `term` for a further weight of each.
    """
    return _WEIGHTS.format(prefix=prefix, factor=factor).strip()


# Common tables of the statement. `readable` holds the ids of the searched collections; the own
# configuration in `language` follows the rule of `search.query.language`.
TABLES = f"""
config AS MATERIALIZED (
    SELECT text_config, sum(chunks) AS chunks
    FROM (
        SELECT text_config, chunks FROM ingestion_corpusstatistics
        WHERE collection_id IN (SELECT id FROM readable)
        UNION ALL
        SELECT text_config, chunks FROM ingestion_corpuschange
        WHERE collection_id IN (SELECT id FROM readable)
    ) parts
    GROUP BY text_config
    HAVING sum(chunks) > 0
),
reading AS MATERIALIZED (
    SELECT text_config, chunks,
           (SELECT coalesce(sum(cardinality(positions)), 0)
            FROM unnest(to_tsvector(text_config::regconfig, %(spaced)s))) AS words
    FROM (SELECT text_config, chunks FROM config
          UNION ALL
          SELECT known, 0 FROM unnest(%(known_configs)s::text[]) known
          WHERE known NOT IN (SELECT text_config FROM config)) read
),
language AS MATERIALIZED (
    SELECT main.text_config AS main, coalesce(own.text_config, main.text_config) AS own
    FROM (SELECT text_config FROM config
          ORDER BY chunks DESC, text_config COLLATE "C" DESC LIMIT 1) main
    LEFT JOIN (SELECT text_config, chunks, lead(words) OVER (ORDER BY words) - words AS lead
               FROM reading ORDER BY words LIMIT 1) own
           ON own.lead >= {SURE} AND own.chunks > 0
),
{lexemes("ARRAY[%(spaced)s]", part=PART)},
corpus AS (
    SELECT greatest(coalesce(sum(chunks), 0), 1) AS chunks FROM config
),
{terms()},
question AS MATERIALIZED (
    SELECT
        {weights()},
        (SELECT string_agg(quoted, ' | ')::tsquery FROM term WHERE idf > 0) AS any_term,
        (SELECT string_agg(quoted, ' | ')::tsquery FROM term
         WHERE chunks_before < %(budget)s) AS rare_term,
        (SELECT greatest(sum(idf), 1e-9) FROM term) AS total_idf,
        (SELECT count(*) FROM lexeme WHERE NOT is_joined AND times >= 1) - left_out AS lexemes,
        left_out
    FROM (SELECT (SELECT count(*) FROM frequency) - (SELECT count(*) FROM term) AS left_out) known
)
"""

# Query statistics: its terms, rarest first, and the number of those left out; those of %(words)s
# that no searched text contains under any configuration (of an identifier, which has forms, the
# parts of its name prove nothing); the number of its words that each configuration keeps.
FINDINGS = """
json_build_object(
    'terms',
    (SELECT json_agg(json_build_array(lexeme, chunks, idf, times) ORDER BY chunks, lexeme)
     FROM term WHERE idf > 0),
    'left_out', (SELECT left_out FROM question),
    'unchecked', {unchecked},
    'unknown',
    (SELECT json_agg(word ORDER BY place)
     FROM (SELECT word, min(said) AS said, array_agg(form) AS forms, min(place) AS place
           FROM unnest(%(words)s::text[], %(words_said)s::text[], %(word_forms)s::text[])
                WITH ORDINALITY asked(word, said, form, place)
           GROUP BY word) sought
     WHERE EXISTS (SELECT FROM config) AND NOT EXISTS (
         SELECT FROM config, to_tsvector(config.text_config::regconfig, said) reading
         WHERE reading = ''::tsvector OR (forms = '{{""}}' OR length(reading) = 1)
               AND tsvector_to_array(reading) && ARRAY(SELECT lexeme FROM counted)
     ) AND NOT EXISTS (
         SELECT FROM ingestion_identifier i JOIN ingestion_chunk c ON c.id = i.chunk_id
         WHERE i.form = ANY(forms) AND c.searchable
           AND c.collection_id IN (SELECT id FROM readable))),
    'readings', (SELECT json_agg(json_build_array(text_config, chunks, words) ORDER BY text_config)
                 FROM reading)
)
"""


def params(
    query: Query, words: Sequence[tuple[str, str]], languages: Sequence[str]
) -> dict[str, Any]:
    """The parameters of the common tables; `words` are looked up, by their forms if any."""
    return {
        "text": query.text,
        "spaced": spaced(query.text),
        "words": [word for word, _ in words],
        "words_said": [spaced(word) for word, _ in words],
        "word_forms": [form for _, form in words],
        "known_configs": list(configs_of(languages)),
    }


def bm25(chunk: str, query: str = "question") -> str:
    """BM25 of the chunk with that alias; `query` is the table with the query's weights."""
    return f"-({chunk}.terms <#> (SELECT weights FROM {query}))"
