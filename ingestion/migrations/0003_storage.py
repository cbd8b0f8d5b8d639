"""Keeps the term weights in the row: a search reads them by the thousand, the text by the ten."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0002_library")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE ingestion_chunk ALTER COLUMN terms SET STORAGE MAIN",
            "ALTER TABLE ingestion_chunk ALTER COLUMN terms SET STORAGE EXTERNAL",
        ),
    ]
