"""Words without their accents, for phrases in quotes and suggestions while typing (ADR 124)."""

from __future__ import annotations

from django.db import migrations

# As before, with the words that have an accent a second time, without it: Peña as pena, and Müller
# as muller and mueller. What is wrongly added (и for й) only has more texts read for a phrase.
WORDS = r"""
CREATE OR REPLACE FUNCTION steelyard_words(headings text[], content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT strip(to_tsvector('pg_catalog.simple', regexp_replace(concat_ws(
        ' ', written,
        (SELECT string_agg(regexp_replace(
             name[1],
             '([[:lower:][:digit:]])([[:upper:]])|([[:upper:]])([[:upper:]][[:lower:]])',
             '\1\3 \2\4', 'g'), ' ')
         FROM regexp_matches(
             written, '[[:alnum:]]*[[:lower:][:digit:]][[:upper:]][[:alnum:]]*', 'g') name),
        (SELECT string_agg(normalize(regexp_replace(
             normalize(translate(replace(replace(replace(replace(
                 word, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'øđðłıħŧ', 'oddliht'), NFD),
             '[\u0300-\u036f]', '', 'g'), NFC), ' ')
         FROM regexp_matches(
             written, '[[:alnum:]\u0300-\u036f]*[À-ɏΆ-ΐΪ-ώЀ-ЏЙйѐ-џḀ-ỿἀ-ῼ\u0300-\u036f]'
                      '[[:alnum:]\u0300-\u036f]*', 'g') accented,
         LATERAL (VALUES
             (lower(accented[1])),
             (replace(replace(replace(replace(replace(
                  lower(accented[1]), 'ä', 'ae'), 'ö', 'oe'), 'ü', 'ue'), 'å', 'aa'), 'ø', 'oe'))
         ) spelling(word))
    ), '[^[:alnum:][:space:]]+', ' ', 'g')))
    FROM (SELECT concat_ws(' ', array_to_string(headings, ' '), content) AS written) texts
)
"""
# Until an index is built anew it has the words as before, and phrases are found as they were.
INDEXES = ("document_title_words", "chunk_words", "chunk_section_words")
# Repeatable; the first of each pair removes what is left of one that was interrupted.
REBUILD = [
    statement
    for name in INDEXES
    for statement in (
        f"DROP INDEX CONCURRENTLY IF EXISTS {name}_ccnew",
        f"REINDEX INDEX CONCURRENTLY {name}",
    )
]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("search", "0005_shares_of_parts"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL([WORDS, *REBUILD], migrations.RunSQL.noop),
            ]
        )
    ]
