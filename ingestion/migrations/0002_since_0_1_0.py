import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

# No search and no upload looks for these alone, or another index begins with the same column. Django
# itself would drop each foreign key and check it anew, with the table locked meanwhile.
# In the order in which a search takes the tables: whoever takes them in another may wait for it while
# it waits for them.
UNUSED = {
    "ingestion_termfrequency_collection_id_0d2f4ff0": "ingestion_termfrequency (collection_id)",
    "ingestion_termchange_collection_id_d2da163d": "ingestion_termchange (collection_id)",
    "chunk_content_hash": "ingestion_chunk (collection_id, content_hash)",
    "ingestion_chunk_edit_id_e5687b56": "ingestion_chunk (edit_id)",
    "ingestion_chunk_version_id_6c5bd2e0": "ingestion_chunk (version_id)",
    "ingestion_chunkembedding_chunk_id_51849405": "ingestion_chunkembedding (chunk_id)",
}
# It comes first: while it is built uploads wait, and searches go on.
EDITED = "CREATE INDEX chunk_edit ON ingestion_chunk (edit_id) WHERE edit_id IS NOT NULL"

# A version writes a row for each of its lexemes, and `terms.fold` deletes them all within a minute:
# nothing ever looks for one by its id. `id` stays, with its sequence.
NO_KEY = "ALTER TABLE ingestion_termchange DROP CONSTRAINT IF EXISTS ingestion_termchange_pkey"
KEY = "ALTER TABLE ingestion_termchange ADD PRIMARY KEY (id)"

# By default autovacuum waits until a fifth of a table is dead: of a million passages 200,000, which
# an HNSW scan visits in vain. The shares are guesses; docs/adr/0078 says what they cost.
# Searches and uploads do not notice the lock.
TIDY = {
    "ingestion_chunk": "autovacuum_vacuum_scale_factor = 0.05",
    "ingestion_chunkembedding": "autovacuum_vacuum_scale_factor = 0.05",
    # Emptied by each fold: its index keeps its size if the dead rows stay.
    "ingestion_termchange": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000",
    # A fold changes many rows and none of their keys: with room on the page no index is written.
    "ingestion_termfrequency": "fillfactor = 80, autovacuum_vacuum_scale_factor = 0.1",
}


def dropped(name: str, place: str) -> migrations.RunSQL:
    return migrations.RunSQL(f"DROP INDEX IF EXISTS {name}", f"CREATE INDEX {name} ON {place}")


def tidied(table: str, settings: str) -> migrations.RunSQL:
    names = ", ".join(each.split(" = ")[0] for each in settings.split(", "))
    return migrations.RunSQL(
        f"ALTER TABLE {table} SET ({settings})", f"ALTER TABLE {table} RESET ({names})"
    )


class Migration(migrations.Migration):

    replaces = [('ingestion', '0002_longer_questions'), ('ingestion', '0003_concepts'), ('ingestion', '0004_chunk_layout'), ('ingestion', '0005_collection_icons_and_moves'), ('ingestion', '0006_expressions_in_re2'), ('ingestion', '0007_fewer_indexes'), ('ingestion', '0008_tidier_tables_and_purges')]

    dependencies = [
        ('ingestion', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(EDITED, "DROP INDEX chunk_edit"),
                *(dropped(name, place) for name, place in UNUSED.items()),
            ],
            state_operations=[
                migrations.AddIndex(
                    model_name='chunk',
                    index=models.Index(condition=models.Q(('edit', None), _negated=True), fields=['edit'], name='chunk_edit'),
                ),
                migrations.RemoveIndex(
                    model_name='chunk',
                    name='chunk_content_hash',
                ),
                migrations.AlterField(
                    model_name='chunk',
                    name='edit',
                    field=models.ForeignKey(blank=True, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='chunks', to='ingestion.chunkedit'),
                ),
                migrations.AlterField(
                    model_name='chunk',
                    name='version',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='ingestion.documentversion'),
                ),
                migrations.AlterField(
                    model_name='chunkembedding',
                    name='chunk',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='ingestion.chunk'),
                ),
                migrations.AlterField(
                    model_name='termchange',
                    name='collection',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.collection'),
                ),
                migrations.AlterField(
                    model_name='termfrequency',
                    name='collection',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.collection'),
                ),
            ],
        ),
        migrations.RunSQL(NO_KEY, KEY),
        *(tidied(table, settings) for table, settings in TIDY.items()),
        migrations.AlterField(
            model_name='chunkedit',
            name='questions',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=4000), blank=True, default=list, help_text='Exact questions for which the passage ranks first, one per line.', size=None),
        ),
        migrations.AddField(
            model_name='documentversion',
            name='concept_count',
            field=models.PositiveIntegerField(editable=False, help_text='Empty: its concepts were never extracted.', null=True),
        ),
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
                'ordering': ('document', '-weight', 'key'),
                'default_permissions': (),
                'indexes': [models.Index(fields=['key', 'document'], name='concept_key'), django.contrib.postgres.indexes.GinIndex(fields=['lexemes'], name='concept_lexemes')],
                'constraints': [models.UniqueConstraint(models.F('version'), models.F('key'), name='concept_once_per_version')],
            },
        ),
        migrations.AddField(
            model_name='chunk',
            name='layout',
            field=models.JSONField(default=list, editable=False),
        ),
        migrations.CreateModel(
            name='DocumentMove',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('rows', models.JSONField(default=list, editable=False)),
                ('undone', models.BooleanField(default=False, editable=False)),
                ('by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('to', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.collection')),
            ],
            options={
                'ordering': ('-at', '-pk'),
                'default_permissions': (),
            },
        ),
        migrations.AlterField(
            model_name='identifierpattern',
            name='regex',
            field=models.TextField(help_text="A regular expression in RE2's syntax: Python's, but without looking ahead or behind. What surrounds an identifier need not be named."),
        ),
        migrations.CreateModel(
            name='Purge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True, editable=False, help_text='What went wrong and what to do.')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('passages', models.PositiveIntegerField(default=0, editable=False)),
                ('erased', models.PositiveIntegerField(default=0, editable=False)),
                ('collection', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='purges', to='ingestion.collection')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('collection',), name='purge_once', nulls_distinct=False)],
            },
        ),
    ]
