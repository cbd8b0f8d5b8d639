from django.db import migrations

# The words of a text as a phrase sees them: runs of letters and digits, in lower case, stop words
# and the parts of dotted, snake and camel names included. Text search configurations drop stop
# words, stem, and take `paginator.num` for a host (ADR 54).
WORDS = r"""
CREATE FUNCTION steelyard_words(headings text[], content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT strip(to_tsvector('pg_catalog.simple', regexp_replace(concat_ws(
        ' ', array_to_string(headings, ' '), content,
        (SELECT string_agg(regexp_replace(
             name[1],
             '([[:lower:][:digit:]])([[:upper:]])|([[:upper:]])([[:upper:]][[:lower:]])',
             '\1\3 \2\4', 'g'), ' ')
         FROM regexp_matches(
             concat_ws(' ', array_to_string(headings, ' '), content),
             '[[:alnum:]]*[[:lower:][:digit:]][[:upper:]][[:alnum:]]*', 'g') name)
    ), '[^[:alnum:][:space:]]+', ' ', 'g')))
);
"""
CHUNKS = """
CREATE INDEX chunk_words ON ingestion_chunk
USING gin (steelyard_words(heading_path, text)) WITH (fastupdate = off) WHERE searchable;
"""
TITLES = """
CREATE INDEX document_title_words ON ingestion_document
USING gin (steelyard_words(NULL, title)) WITH (fastupdate = off);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0003_concepts'),
        ('search', '0007_more_signals'),
    ]

    operations = [
        migrations.RunSQL(WORDS, "DROP FUNCTION steelyard_words(text[], text)"),
        migrations.RunSQL(CHUNKS, "DROP INDEX chunk_words"),
        migrations.RunSQL(TITLES, "DROP INDEX document_title_words"),
    ]
