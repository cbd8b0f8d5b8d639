"""Gives the chunks that are there their near-duplicate signatures. It can be stopped and resumed."""

from django.db import migrations

from ingestion.lexical.signatures import fill_signatures


def fill(apps, schema_editor):
    fill_signatures(apps.get_model("ingestion", "Chunk").objects.all())


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ingestion", "0004_chunk_signature")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
