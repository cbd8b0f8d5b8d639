"""The statement before that of the candidates: what the searched texts hold of a question's words.

The database splits the words under each text configuration and looks them up in the statistics of
the collections that the viewer may read; `search.signals.query_terms` weighs them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

from ingestion.lexical.bigrams import spaced
from ingestion.lexical.compounds import joined_sql, names_sql
from ingestion.lexical.second_forms import acronyms_sql, folded_sql, numbers_sql
from search.domain import Reading
from search.query.language import configs_of
from search.retrieval.filters import Scope
from search.retrieval.prepared import run, send
from search.signals import registry
from search.signals.query_terms import AskedWords, TextToken
from search.signals.registry import Inputs

# `item` has the texts: the question, the words that signals add, those to look for.
_STATEMENT = """
WITH readable(id) AS MATERIALIZED ({readable}),
config AS MATERIALIZED (
    SELECT text_config, sum(chunks) AS chunks
    FROM (SELECT collection_id, text_config, chunks FROM ingestion_corpusstatistics UNION ALL
          SELECT collection_id, text_config, chunks FROM ingestion_corpuschange) parts
    WHERE collection_id = ANY(ARRAY(SELECT id FROM readable))
    GROUP BY text_config HAVING sum(chunks) > 0
),
item AS MATERIALIZED (
    SELECT * FROM unnest(%(texts)s::text[]) WITH ORDINALITY item(content, text)
),
token AS MATERIALIZED (
    SELECT text, kind, text_config, lexeme, positions
    FROM (SELECT text, 'word' AS kind, content FROM item {forms}) said, config,
         unnest(to_tsvector(text_config::regconfig, content))
    {more}
)
SELECT
    (SELECT json_agg(json_build_array(text_config, chunks, (
         SELECT coalesce(sum(cardinality(positions)), 0)
         FROM unnest(to_tsvector(text_config::regconfig, content)))) ORDER BY text_config)
     FROM item, (SELECT text_config, chunks FROM config UNION ALL
                 SELECT known, 0 FROM unnest(%(known_configs)s::text[]) known
                 WHERE known NOT IN (SELECT text_config FROM config)) read
     WHERE text = 1),
    (SELECT json_agg(json_build_array(text, kind, text_config, lexeme, positions)) FROM token),
    (SELECT json_object_agg(lexeme, json_build_array(chunks, steelyard_term_id(lexeme)))
     FROM (
         SELECT lexeme, sum(chunks) AS chunks
         FROM (SELECT collection_id, lexeme, chunks FROM ingestion_termfrequency UNION ALL
               SELECT collection_id, lexeme, chunks FROM ingestion_termchange) parts
         WHERE lexeme = ANY(ARRAY(SELECT lexeme FROM token))
           AND collection_id = ANY(ARRAY(SELECT id FROM readable))
         GROUP BY lexeme HAVING sum(chunks) > 0
     ) frequency),
    (SELECT sum(chunks) FROM ingestion_corpusstatistics)
"""
# Other forms of the question's words, of the kinds of `query_terms`.
_FORMS = f"""
        UNION ALL SELECT 1, kind, forms FROM item, LATERAL (
            SELECT 'part', string_agg(parts, ' ') FROM {names_sql("content")} named UNION ALL
            SELECT 'number', string_agg(joined, ' ')
            FROM {numbers_sql("content", networks=False)} numbers UNION ALL
            SELECT 'fold', string_agg(folded, ' ') FROM {folded_sql("content")} folds
        ) others(kind, forms) WHERE text = 1
"""
# Acronyms, compounds with their joined forms, and the identifiers that some searched chunk has.
_MORE = f"""
    UNION ALL
    SELECT text, 'acronym', text_config, acronym, ARRAY[nth]::smallint[]
    FROM item, config, LATERAL {acronyms_sql("content", "text_config::regconfig")} acronyms
    WHERE text = 1
    UNION ALL
    SELECT text, whole.lexeme, text_config, joined.lexeme, NULL
    FROM item, LATERAL {joined_sql("content")} parted, config,
         unnest(to_tsvector(text_config::regconfig, parted.compound)) whole,
         unnest(to_tsvector(text_config::regconfig, parted.joined)) joined
    WHERE 1 = ANY(whole.positions)
    UNION ALL
    SELECT 0, '', '', asked, NULL
    FROM unnest(%(forms)s::text[]) asked WHERE EXISTS (
        SELECT FROM ingestion_identifier i JOIN ingestion_chunk c ON c.id = i.chunk_id
        WHERE i.form = asked AND c.searchable
          AND c.collection_id = ANY(ARRAY(SELECT id FROM readable)))
"""
# Without one of these marks a text has no word of another form: see the SQL of `ingestion.lexical`.
MARKS = re.compile(r"[0-9-]|[./&\"](?=\S)|'(?=[A-Z])|[^\x00-\x7f]|(?<=\w)[A-Z+#]")


def asked_words(inputs: Inputs, scope: Scope, sought: Sequence[tuple[str, str]] = ()) -> AskedWords:
    """The question's words with the statistics of the scope's collections; one round trip.

    `sought` are the words to look for, each with an identifier's form or "".
    """
    query, space = inputs.query, inputs.space
    running = (part for part in registry.installed() if part.runs(inputs))
    parts = {part: each for part in running if (each := part.added(query))}
    words = {word: {form for each, form in sought if each == word} for word, _ in sought}
    texts = [spaced(query.text), *map(spaced, chain(*parts.values(), words))]
    forms = [form for _, form in sought if form]
    readable, params = scope.readable("readable")
    known = list(configs_of(space.languages if space else ()))
    values = {**params, "texts": texts, "known_configs": known, "forms": forms}
    is_plain = not forms and not any(map(MARKS.search, texts))
    other = {"forms": "", "more": ""} if is_plain else {"forms": _FORMS, "more": _MORE}
    statement = _STATEMENT.format(readable=readable, **other)
    (row,) = (run if scope.is_whole else send)(statement, values)
    found, rows, frequencies, every = row
    readings = tuple(Reading(*each) for each in found or ())
    tokens: dict[int, list[TextToken]] = defaultdict(list)
    for each in rows or ():
        tokens[each[0]].append(TextToken(*each))
    numbers = iter(range(2, len(texts) + 1))
    weights = {
        part.words: {next(numbers): weight for weight in each.values()}
        for part, each in parts.items()
    }
    forms_of = {word: (next(numbers), each) for word, each in words.items()}
    configs = {each.config: each.chunks for each in readings if each.chunks}
    return AskedWords(
        configs, frequencies or {}, tokens, readings, int(every or 0), weights, forms_of
    )
