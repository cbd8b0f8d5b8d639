"""Keeps a chunk's row narrow: what scoring reads stays in it, what is shown goes to the side.

A search scores thousands of chunks and shows ten. With the text and the lexemes out of line a
row is about 700 bytes, and 200,000 of them fit where 60,000 did. PLAIN keeps the term weights
from being compressed, which would be undone for every chunk scored.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0002_library")]

    operations = [
        migrations.RunSQL(
            [
                "ALTER TABLE ingestion_chunk ALTER COLUMN terms SET STORAGE PLAIN",
                "ALTER TABLE ingestion_chunk SET (toast_tuple_target = 128)",
            ],
            [
                "ALTER TABLE ingestion_chunk ALTER COLUMN terms SET STORAGE EXTERNAL",
                "ALTER TABLE ingestion_chunk RESET (toast_tuple_target)",
            ],
        ),
    ]
