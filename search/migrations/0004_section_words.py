"""The words of the headings of sections, for suggestions while typing (ADR 121)."""

from __future__ import annotations

from django.db import migrations

# Built again from the beginning if it was interrupted: what is left of it is not valid.
BUILD = [
    "DROP INDEX CONCURRENTLY IF EXISTS chunk_section_words",
    """
CREATE INDEX CONCURRENTLY chunk_section_words ON ingestion_chunk
USING gin (steelyard_words(NULL, jsonb_path_query_array(sections, '$[*][2]')::text))
WITH (fastupdate = off) WHERE searchable
""",
]
DROP = "DROP INDEX CONCURRENTLY IF EXISTS chunk_section_words"


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("ingestion", "0004_sections"),
        ("search", "0003_background"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(BUILD, DROP)]
        )
    ]
