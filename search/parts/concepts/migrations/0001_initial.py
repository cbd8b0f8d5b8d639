"""The part adopts the table of concepts, and takes over which versions have some."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

# Before 0.3.0 a column of the version.
COUNTS = """
INSERT INTO concepts_conceptcount (version_id, count)
SELECT id, concept_count FROM ingestion_documentversion WHERE concept_count IS NOT NULL
"""
# On a site that leaves the part out later nothing deletes the rows of a version but the database.
CASCADE = """
ALTER TABLE concepts_conceptcount ADD FOREIGN KEY (version_id)
REFERENCES ingestion_documentversion ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('ingestion', '0014_concepts_are_a_part'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Concept',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('key', models.CharField(max_length=200)),
                        ('label', models.CharField(max_length=200)),
                        ('lexemes', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                        ('count', models.PositiveIntegerField(help_text='Number of occurrences.')),
                        ('weight', models.FloatField()),
                        ('ordinal', models.PositiveIntegerField(help_text='The first passage with it, from 0.')),
                        ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='concepts', to='ingestion.document')),
                        ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='concepts', to='ingestion.documentversion')),
                    ],
                    options={
                        'db_table': 'ingestion_concept',
                        'ordering': ('document', '-weight', 'key'),
                        'default_permissions': (),
                        'indexes': [models.Index(fields=['key', 'document'], name='concept_key'), django.contrib.postgres.indexes.GinIndex(fields=['lexemes'], name='concept_lexemes')],
                        'constraints': [models.UniqueConstraint(models.F('version'), models.F('key'), name='concept_once_per_version')],
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name='ConceptCount',
            fields=[
                ('version', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='concept_count', serialize=False, to='ingestion.documentversion')),
                ('count', models.PositiveIntegerField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.RunSQL([CASCADE, COUNTS], migrations.RunSQL.noop),
    ]
