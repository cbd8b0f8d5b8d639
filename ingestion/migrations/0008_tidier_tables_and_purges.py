import django.db.models.deletion
from django.db import migrations, models

# A version writes a row for each of its lexemes, and `terms.fold` deletes them all within a minute:
# nothing ever looks for one by its id. `id` stays, with its sequence.
NO_KEY = "ALTER TABLE ingestion_termchange DROP CONSTRAINT IF EXISTS ingestion_termchange_pkey"
KEY = "ALTER TABLE ingestion_termchange ADD PRIMARY KEY (id)"

# By default autovacuum waits until a fifth of a table is dead: of a million passages 200,000, which
# an HNSW scan visits in vain. The shares are guesses; docs/adr/0079-storage.md says what they cost.
# Searches and uploads do not notice the lock.
TIDY = {
    "ingestion_chunk": "autovacuum_vacuum_scale_factor = 0.05",
    "ingestion_chunkembedding": "autovacuum_vacuum_scale_factor = 0.05",
    # Emptied by each fold: its index keeps its size if the dead rows stay.
    "ingestion_termchange": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000",
    # A fold changes many rows and none of their keys: with room on the page no index is written.
    "ingestion_termfrequency": "fillfactor = 80, autovacuum_vacuum_scale_factor = 0.1",
}


def tidied(table: str, settings: str) -> migrations.RunSQL:
    names = ", ".join(each.split(" = ")[0] for each in settings.split(", "))
    return migrations.RunSQL(
        f"ALTER TABLE {table} SET ({settings})", f"ALTER TABLE {table} RESET ({names})"
    )


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0007_fewer_indexes'),
    ]

    operations = [
        migrations.RunSQL(NO_KEY, KEY),
        *(tidied(table, settings) for table, settings in TIDY.items()),
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
