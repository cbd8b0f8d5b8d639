from django.db import migrations, models
from django.db.models import CASCADE, SET_NULL

# No search and no upload looks for these alone, or another index begins with the same column. Django
# itself would drop each foreign key and check it anew, with the table locked meanwhile.
UNUSED = {
    "chunk_content_hash": "ingestion_chunk (collection_id, content_hash)",
    "ingestion_chunk_edit_id_e5687b56": "ingestion_chunk (edit_id)",
    "ingestion_chunk_version_id_6c5bd2e0": "ingestion_chunk (version_id)",
    "ingestion_chunkembedding_chunk_id_51849405": "ingestion_chunkembedding (chunk_id)",
    "ingestion_termchange_collection_id_d2da163d": "ingestion_termchange (collection_id)",
    "ingestion_termfrequency_collection_id_0d2f4ff0": "ingestion_termfrequency (collection_id)",
}
# What an interrupted run left is invalid: built anew.
EDITED = [
    "DROP INDEX CONCURRENTLY IF EXISTS chunk_edit",
    "CREATE INDEX CONCURRENTLY chunk_edit ON ingestion_chunk (edit_id) WHERE edit_id IS NOT NULL",
]


def dropped(name: str, place: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {place}",
    )


def unindexed(model: str, field: str, to: str, on_delete: object, **more: object) -> migrations.AlterField:
    key = models.ForeignKey(to=f"ingestion.{to}", on_delete=on_delete, db_index=False, **more)
    return migrations.AlterField(model_name=model, name=field, field=key)


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('ingestion', '0006_expressions_in_re2'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                *(migrations.RunSQL(statement, migrations.RunSQL.noop) for statement in EDITED),
                *(dropped(name, place) for name, place in UNUSED.items()),
            ],
            state_operations=[
                migrations.AddIndex(
                    'chunk',
                    models.Index(condition=models.Q(('edit', None), _negated=True), fields=['edit'], name='chunk_edit'),
                ),
                migrations.RemoveIndex('chunk', 'chunk_content_hash'),
                unindexed('chunk', 'edit', 'chunkedit', SET_NULL, blank=True, editable=False, null=True, related_name='chunks'),
                unindexed('chunk', 'version', 'documentversion', CASCADE, related_name='chunks'),
                unindexed('chunkembedding', 'chunk', 'chunk', CASCADE, related_name='embeddings'),
                unindexed('termchange', 'collection', 'collection', CASCADE, related_name='+'),
                unindexed('termfrequency', 'collection', 'collection', CASCADE, related_name='+'),
            ],
        ),
    ]
