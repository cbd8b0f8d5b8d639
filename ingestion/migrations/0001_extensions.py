"""The database extensions and the SQL functions that the tables and statements use."""

from django.contrib.postgres.operations import (
    BtreeGinExtension,
    TrigramExtension,
    UnaccentExtension,
)
from django.db import migrations
from pgvector.django import VectorExtension

# md5 and not hashtext: it is the same in every version of Postgres, and in Python.
# 2^30 - 1 fits below the 1,000,000,000 dimensions of a sparsevec, whose indices start at 1.
TERM_ID = """
CREATE FUNCTION steelyard_term_id(lexeme text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (('x' || substr(md5(lexeme), 1, 8))::bit(32)::bigint & 1073741823) % 999999999 + 1;
"""

# The headings above a chunk that its own text does not repeat.
HEADINGS = """
CREATE FUNCTION steelyard_headings(path text[], body text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT coalesce(string_agg(heading, E'\\n'), '')
    FROM unnest(path) heading
    WHERE position(heading IN body) = 0
);
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        VectorExtension(),
        TrigramExtension(),
        UnaccentExtension(),
        BtreeGinExtension(),
        migrations.RunSQL(TERM_ID, "DROP FUNCTION steelyard_term_id(text)"),
        migrations.RunSQL(HEADINGS, "DROP FUNCTION steelyard_headings(text[], text)"),
    ]
