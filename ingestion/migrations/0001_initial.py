"""The library's tables, after the extensions and SQL functions that they use."""

import uuid

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.lookups
import django.utils.timezone
import pgvector.django.halfvec
import pgvector.django.sparsevec
from django.conf import settings
from django.contrib.postgres.operations import (
    BtreeGinExtension,
    TrigramExtension,
    UnaccentExtension,
)
from django.db import migrations, models
from pgvector.django import VectorExtension

import ingestion.models.collections

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

# Chunk rows are scanned for their term weights alone: see docs/adr/0001-keywords.md.
TERMS_IN_THE_ROW = [
    "ALTER TABLE ingestion_chunk ALTER COLUMN terms SET STORAGE PLAIN",
    "ALTER TABLE ingestion_chunk SET (toast_tuple_target = 128)",
]
TERMS_OUT_OF_THE_ROW = [
    "ALTER TABLE ingestion_chunk ALTER COLUMN terms SET STORAGE EXTERNAL",
    "ALTER TABLE ingestion_chunk RESET (toast_tuple_target)",
]


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        VectorExtension(),
        TrigramExtension(),
        UnaccentExtension(),
        BtreeGinExtension(),
        migrations.RunSQL(TERM_ID, "DROP FUNCTION steelyard_term_id(text)"),
        migrations.RunSQL(HEADINGS, "DROP FUNCTION steelyard_headings(text[], text)"),
        migrations.CreateModel(
            name='IdentifierPattern',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True)),
                ('regex', models.TextField(help_text='A Python regular expression.')),
                ('normaliser', models.CharField(choices=[('citation', 'citation'), ('code', 'code'), ('common_name', 'common_name'), ('lower', 'lower'), ('name', 'name'), ('number', 'number'), ('path', 'path'), ('section', 'section'), ('version', 'version')], help_text='How spellings are unified, and which parts of an identifier match it as well.', max_length=40)),
                ('examples', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, size=None)),
                ('counter_examples', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, size=None)),
                ('enabled', models.BooleanField(default=True)),
                ('position', models.PositiveSmallIntegerField(default=100)),
            ],
            options={
                'ordering': ('position', 'name'),
            },
        ),
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120)),
                ('slug', models.SlugField(blank=True, max_length=120)),
                ('description', models.TextField(blank=True)),
                ('visibility', models.CharField(choices=[('public', 'Everyone'), ('signed_in', 'Signed-in users'), ('groups', 'Members of chosen groups')], default='signed_in', max_length=12)),
                ('language', models.CharField(blank=True, help_text='ISO 639-1 code of every document; leave empty to detect it for each.', max_length=8)),
                ('chunk_tokens', models.PositiveSmallIntegerField(default=200, help_text='Target size of a chunk in tokens of the embedding model (32-2000).', validators=[django.core.validators.MinValueValidator(32), django.core.validators.MaxValueValidator(2000)], verbose_name='chunk size')),
                ('overlap_tokens', models.PositiveSmallIntegerField(default=20, help_text='Tokens shared by consecutive chunks; less than half the chunk size.', verbose_name='chunk overlap')),
                ('metadata_keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40, validators=[ingestion.models.collections.validate_metadata_key]), blank=True, default=list, help_text='Metadata keys that searches can be filtered by.', size=10)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, db_index=True, editable=False, help_text='When it was moved to the bin, with all its documents.', null=True)),
                ('deleted_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('groups', models.ManyToManyField(blank=True, help_text='Groups that may read it if it is visible to chosen groups only.', to='auth.group')),
            ],
            options={
                'ordering': ('name',),
                'constraints': [
                    models.UniqueConstraint(models.F('name'), condition=models.Q(('deleted_at', None)), name='collection_name_once', violation_error_message='A collection of this name already exists.'),
                    models.UniqueConstraint(models.F('slug'), condition=models.Q(('deleted_at', None)), name='collection_slug_once', violation_error_message='A collection with this slug already exists.'),
                    models.CheckConstraint(condition=models.Q(('chunk_tokens__gte', 32), ('chunk_tokens__lte', 2000)), name='collection_chunk_tokens_range', violation_error_message='The chunk size must be between 32 and 2000 tokens.'),
                    models.CheckConstraint(condition=models.Q(('overlap_tokens__lt', django.db.models.expressions.CombinedExpression(models.F('chunk_tokens'), '/', models.Value(2)))), name='collection_overlap_below_half', violation_error_message='The overlap must be less than half the chunk size.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CorpusChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text_config', models.CharField(max_length=64)),
                ('chunks', models.IntegerField()),
                ('total_length', models.BigIntegerField()),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.collection')),
            ],
        ),
        migrations.CreateModel(
            name='CorpusStatistics',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text_config', models.CharField(max_length=64)),
                ('chunks', models.BigIntegerField()),
                ('total_length', models.BigIntegerField()),
                ('weighed_length', models.FloatField(default=0, help_text='Average length used for the stored weights; 0: none yet.')),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.collection')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(models.F('collection'), models.F('text_config'), name='corpus_once_per_config'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('title', models.CharField(max_length=500)),
                ('title_given', models.BooleanField(default=False, help_text='The title was set by hand: a new version keeps it.')),
                ('title_terms', django.contrib.postgres.search.SearchVectorField(editable=False, null=True)),
                ('source', models.CharField(blank=True, help_text='Path or address; a new file from the same source becomes a new version.', max_length=1000)),
                ('source_kind', models.CharField(choices=[('upload', 'Upload'), ('path', 'File on the server'), ('url', 'Web address'), ('part', 'Part of another document')], default='upload', editable=False, max_length=8)),
                ('part_path', models.CharField(blank=True, editable=False, help_text='Path within the parent.', max_length=1000)),
                ('language', models.CharField(blank=True, max_length=8)),
                ('language_given', models.BooleanField(default=False)),
                ('metadata', models.JSONField(blank=True, default=dict, help_text='What people know of it: a flat object of texts, numbers, dates, lists of texts.', validators=[ingestion.models.collections.validate_metadata])),
                ('content_hash', models.CharField(editable=False, max_length=64)),
                ('created', models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('deleted_at', models.DateTimeField(blank=True, db_index=True, editable=False, help_text='When it was moved to the bin; it can be restored until the grace period ends.', null=True)),
                ('added_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='ingestion.collection')),
                ('deleted_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('parent', models.ForeignKey(blank=True, editable=False, help_text='The archive or message that contains this part.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='ingestion.document')),
            ],
            options={
                'ordering': ('-created', '-pk'),
                'indexes': [
                    django.contrib.postgres.indexes.GinIndex(fields=['title_terms'], name='document_title_terms'),
                    django.contrib.postgres.indexes.GinIndex(fields=['metadata'], name='document_metadata'),
                ],
                'constraints': [
                    models.UniqueConstraint(models.F('collection'), models.F('content_hash'), condition=models.Q(('deleted_at', None), ('parent', None)), name='document_same_bytes_once', violation_error_message='This collection already has a document with the same content.'),
                    models.UniqueConstraint(models.F('collection'), models.F('source'), condition=models.Q(models.Q(('source', ''), _negated=True), ('deleted_at', None)), name='document_one_per_source', violation_error_message='This collection already has a document from this source.'),
                    models.UniqueConstraint(models.F('parent'), models.F('part_path'), condition=models.Q(models.Q(('parent', None), _negated=True), ('deleted_at', None)), name='document_one_per_part'),
                    models.CheckConstraint(condition=django.db.models.lookups.Exact(models.Func('metadata', function='jsonb_typeof', output_field=models.TextField()), models.Value('object')), name='document_metadata_is_an_object', violation_error_message='Metadata is a JSON object of keys and values.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ChunkEdit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(blank=True, help_text='Replacement text; leave empty to keep the text.')),
                ('disabled', models.BooleanField(default=False, help_text='Exclude the passage from search.')),
                ('questions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, help_text='Exact questions for which the passage ranks first, one per line.', size=None)),
                ('note', models.TextField(blank=True, help_text='Shown to staff only.')),
                ('original', models.TextField(editable=False)),
                ('content_hash', models.CharField(editable=False, max_length=64)),
                ('hash_before', models.CharField(blank=True, editable=False, max_length=64)),
                ('hash_after', models.CharField(blank=True, editable=False, max_length=64)),
                ('heading_path', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, editable=False, size=None)),
                ('ordinal', models.PositiveIntegerField(editable=False)),
                ('state', models.CharField(choices=[('applied', 'Applied'), ('homeless', 'Unplaced')], db_index=True, default='applied', editable=False, max_length=8)),
                ('reason', models.TextField(blank=True, editable=False, help_text='Why the edit could not be placed.')),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('added_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='edits', to='ingestion.document')),
            ],
            options={
                'verbose_name': 'hand edit',
                'ordering': ('document', 'ordinal', 'pk'),
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='DeletedDocument',
            fields=[
            ],
            options={
                'verbose_name_plural': 'bin',
                'proxy': True,
                'default_permissions': (),
                'indexes': [],
                'constraints': [],
            },
            bases=('ingestion.document',),
        ),
        migrations.CreateModel(
            name='DocumentVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True, editable=False, help_text='What went wrong and what to do.')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('number', models.PositiveIntegerField()),
                ('file', models.FileField(editable=False, max_length=300, upload_to='')),
                ('file_name', models.CharField(max_length=255)),
                ('media_type', models.CharField(max_length=120)),
                ('size', models.PositiveBigIntegerField(help_text='Bytes.')),
                ('sha256', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('parsing', 'Parsing'), ('chunking', 'Chunking'), ('embedding', 'Embedding'), ('ready', 'Ready'), ('failed', 'Failed'), ('superseded', 'Superseded')], db_index=True, default='queued', max_length=12)),
                ('progress', models.FloatField(default=0, help_text='Share of the work that is done, 0 to 1.')),
                ('error_code', models.CharField(blank=True, max_length=40)),
                ('finished', models.DateTimeField(blank=True, null=True)),
                ('title', models.CharField(blank=True, max_length=500)),
                ('language', models.CharField(blank=True, max_length=8)),
                ('text', models.TextField(blank=True, help_text='Extracted text; chunk offsets refer to it.')),
                ('page_count', models.PositiveIntegerField(blank=True, null=True)),
                ('author', models.CharField(blank=True, max_length=500)),
                ('file_created', models.DateTimeField(blank=True, null=True)),
                ('file_modified', models.DateTimeField(blank=True, null=True)),
                ('parser', models.CharField(blank=True, max_length=80)),
                ('warnings', models.JSONField(blank=True, default=list)),
                ('chunk_count', models.PositiveIntegerField(default=0)),
                ('lane', models.CharField(choices=[('interactive', 'Interactive'), ('bulk', 'Bulk')], default='interactive', max_length=12)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='ingestion.document')),
                ('restored_from', models.ForeignKey(blank=True, help_text='The older version that this one restores.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='ingestion.documentversion')),
            ],
            options={
                'ordering': ('-number',),
                'indexes': [
                    models.Index(condition=models.Q(('state__in', ('queued', 'parsing', 'chunking', 'embedding'))), fields=['leased_until', 'enqueued_at'], name='version_unfinished'),
                ],
                'constraints': [
                    models.UniqueConstraint(models.F('document'), models.F('number'), name='version_number_once'),
                    models.CheckConstraint(condition=models.Q(('progress__gte', 0), ('progress__lte', 1)), name='version_progress_is_a_share'),
                ],
            },
        ),
        migrations.AddField(
            model_name='document',
            name='current',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='ingestion.documentversion'),
        ),
        migrations.AddField(
            model_name='document',
            name='latest',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='ingestion.documentversion'),
        ),
        migrations.CreateModel(
            name='Chunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ordinal', models.PositiveIntegerField()),
                ('searchable', models.BooleanField(default=False)),
                ('text', models.TextField()),
                ('kind', models.CharField(max_length=12)),
                ('heading_path', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('page', models.PositiveIntegerField(null=True)),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
                ('tokens', models.PositiveIntegerField()),
                ('content_hash', models.CharField(max_length=64)),
                ('text_config', models.CharField(default='simple', max_length=64)),
                ('lexemes', django.contrib.postgres.search.SearchVectorField(null=True)),
                ('terms', pgvector.django.sparsevec.SparseVectorField(dimensions=1000000000, null=True)),
                ('signature', models.BigIntegerField(help_text='64 bits; near-duplicates differ in few of them.', null=True)),
                ('length', models.PositiveIntegerField(default=0, help_text='Number of term occurrences (BM25 document length).')),
                ('original', models.TextField(blank=True, editable=False, help_text='The parsed text, if it was edited by hand.')),
                ('edit', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='chunks', to='ingestion.chunkedit')),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.collection')),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='ingestion.document')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='ingestion.documentversion')),
            ],
            options={
                'ordering': ('version', 'ordinal'),
                'indexes': [
                    django.contrib.postgres.indexes.GinIndex(condition=models.Q(('searchable', True)), fastupdate=False, fields=['lexemes'], name='chunk_lexemes'),
                    models.Index(fields=['collection', 'content_hash'], name='chunk_content_hash'),
                ],
                'constraints': [
                    models.UniqueConstraint(models.F('version'), models.F('ordinal'), name='chunk_ordinal_once'),
                    models.CheckConstraint(condition=models.Q(('end__gte', models.F('start'))), name='chunk_offsets_in_order'),
                    models.UniqueConstraint(models.F('version'), models.F('edit'), condition=models.Q(('edit', None), _negated=True), name='chunk_edit_once_per_version'),
                ],
            },
        ),
        migrations.CreateModel(
            name='EmbeddingSpace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True, editable=False, help_text='What went wrong and what to do.')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('name', models.CharField(max_length=120)),
                ('fingerprint', models.CharField(max_length=200, unique=True)),
                ('config', models.JSONField(blank=True, default=dict, editable=False)),
                ('dimensions', models.PositiveIntegerField()),
                ('max_tokens', models.PositiveIntegerField()),
                ('languages', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8), blank=True, default=list, help_text='ISO 639-1 codes that the model supports; empty: multilingual.', size=None)),
                ('state', models.CharField(choices=[('building', 'Building'), ('active', 'Active'), ('previous', 'Previous'), ('retired', 'Retired'), ('dropping', 'Being removed')], default='building', max_length=10)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('requests_per_minute', models.PositiveIntegerField(default=0, help_text="The provider's limit, shared by all workers; 0: no limit.")),
                ('tokens_per_minute', models.PositiveIntegerField(default=0, help_text="The provider's limit, shared by all workers; 0: no limit.")),
                ('price', models.DecimalField(decimal_places=6, default=0, help_text='In your currency, for the cost estimate; 0 for a local model.', max_digits=12, validators=[django.core.validators.MinValueValidator(0)], verbose_name='price of a million tokens')),
                ('requests_due', models.DateTimeField(editable=False, null=True)),
                ('tokens_due', models.DateTimeField(editable=False, null=True)),
                ('held_until', models.DateTimeField(editable=False, null=True)),
                ('paused', models.BooleanField(default=False, editable=False)),
                ('filling_after', models.BigIntegerField(default=0, editable=False, help_text='Id of the last chunk embedded.')),
                ('chunks_total', models.PositiveIntegerField(default=0, editable=False)),
                ('chunks_filled', models.PositiveIntegerField(default=0, editable=False)),
                ('tokens_spent', models.PositiveBigIntegerField(default=0, editable=False)),
                ('filling_since', models.DateTimeField(editable=False, null=True)),
                ('filled_at', models.DateTimeField(editable=False, null=True)),
                ('activated_at', models.DateTimeField(editable=False, null=True)),
                ('left_at', models.DateTimeField(editable=False, help_text='When another space replaced it.', null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('state',), name='embedding_space_one_active', violation_error_message='Another embedding space is active.'), models.UniqueConstraint(condition=models.Q(('state', 'previous')), fields=('state',), name='embedding_space_one_previous', violation_error_message='Another embedding space is already kept as the previous one.'), models.CheckConstraint(condition=models.Q(('dimensions__gte', 1), ('dimensions__lte', 4000)), name='embedding_space_dimensions_range'), models.CheckConstraint(condition=models.Q(('price__gte', 0)), name='embedding_space_price_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='ChunkEmbedding',
            fields=[
                ('pk', models.CompositePrimaryKey('chunk_id', 'space_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('vector', pgvector.django.halfvec.HalfVectorField()),
                ('chunk', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='ingestion.chunk')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='ingestion.embeddingspace')),
            ],
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('fingerprint', models.CharField(help_text='A hash of the request: reusing the key for another request is an error.', max_length=64)),
                ('status', models.PositiveSmallIntegerField(help_text='HTTP status of the response; empty while the request is being processed.', null=True)),
                ('answer', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder, null=True)),
                ('location', models.CharField(blank=True, max_length=500)),
                ('created', models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
                'constraints': [
                    models.UniqueConstraint(models.F('user'), models.F('key'), name='idempotency_key_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Identifier',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('form', models.CharField(max_length=200)),
                ('strength', models.FloatField(help_text='1 for the full form, less for a tail or a parent.')),
                ('place', models.PositiveSmallIntegerField(help_text='0 title, 1 heading, 2 body.')),
                ('chunk', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='identifiers', to='ingestion.chunk')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(models.F('form'), models.F('chunk'), name='identifier_once_per_chunk'),
                    models.CheckConstraint(condition=models.Q(('strength__gt', 0), ('strength__lte', 1)), name='identifier_strength_range'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Import',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True, editable=False, help_text='What went wrong and what to do.')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('kind', models.CharField(choices=[('archive', 'ZIP archive'), ('manifest', 'Manifest'), ('folder', 'Folder'), ('url', 'Web address'), ('site', 'Web page and its links'), ('sitemap', 'Sitemap')], max_length=10)),
                ('origin', models.CharField(max_length=2000)),
                ('options', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Stopped')], default='queued', max_length=10)),
                ('file', models.FileField(blank=True, editable=False, max_length=300, upload_to='')),
                ('language', models.CharField(blank=True, help_text='For items without a language.', max_length=8)),
                ('discovered', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('finished', models.DateTimeField(blank=True, editable=False, null=True)),
                ('added_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imports', to='ingestion.collection')),
            ],
            options={
                'ordering': ('-created', '-pk'),
                'indexes': [
                    models.Index(condition=models.Q(('state__in', ('queued', 'running'))), fields=['leased_until', 'enqueued_at'], name='import_open'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ImportItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reference', models.CharField(help_text='Path or address.', max_length=2000)),
                ('position', models.PositiveIntegerField(default=0)),
                ('depth', models.PositiveSmallIntegerField(default=0, help_text='Number of links from the start page.')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('added', 'Added'), ('replaced', 'New version'), ('duplicate', 'Duplicate'), ('skipped', 'Skipped'), ('failed', 'Failed')], db_index=True, default='waiting', max_length=10)),
                ('message', models.TextField(blank=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='ingestion.document')),
                ('of', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='ingestion.import')),
            ],
            options={
                'ordering': ('of', 'position', 'pk'),
                'indexes': [
                    models.Index(fields=['of', 'state', 'position'], name='import_item_next'),
                ],
                'constraints': [
                    models.UniqueConstraint(models.F('of'), models.F('reference'), name='import_item_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='TermChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lexeme', models.TextField()),
                ('chunks', models.IntegerField()),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.collection')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['lexeme', 'collection'], name='term_change_lexeme'),
                ],
            },
        ),
        migrations.CreateModel(
            name='TermFrequency',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lexeme', models.TextField()),
                ('chunks', models.BigIntegerField()),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.collection')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(models.F('lexeme'), models.F('collection'), name='term_once_per_collection'),
                ],
            },
        ),
        migrations.CreateModel(
            name='WatchedFolder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('path', models.CharField(help_text='Absolute path on the server.', max_length=900)),
                ('include', models.TextField(blank=True, help_text='Patterns of paths below the folder, one per line, such as *.pdf or reports/**. Leave empty for all supported files.')),
                ('exclude', models.TextField(blank=True, help_text='Patterns of paths to skip, one per line.')),
                ('recursive', models.BooleanField(default=True, verbose_name='include subfolders')),
                ('enabled', models.BooleanField(default=True)),
                ('poll_seconds', models.PositiveIntegerField(default=60, validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(604800)], verbose_name='scan interval in seconds')),
                ('deletion', models.CharField(choices=[('bin', 'Move the document to the bin'), ('keep', 'Keep the document')], default='bin', max_length=6, verbose_name='when a file is deleted')),
                ('language', models.CharField(blank=True, help_text='ISO 639-1 code; leave empty to detect it for each file.', max_length=8)),
                ('state', models.CharField(choices=[('new', 'Not scanned yet'), ('ok', 'Up to date'), ('missing', 'Folder is missing'), ('held', 'Many files are missing: confirm'), ('error', 'Cannot be read')], default='new', editable=False, max_length=8)),
                ('message', models.TextField(blank=True, editable=False, help_text='What is wrong, and what to do.')),
                ('last_scan', models.DateTimeField(blank=True, editable=False, null=True)),
                ('last_seconds', models.FloatField(blank=True, editable=False, null=True)),
                ('last_counts', models.JSONField(blank=True, default=dict, editable=False)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('added_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='watched_folders', to='ingestion.collection')),
            ],
            options={
                'ordering': ('path', 'pk'),
                'constraints': [
                    models.UniqueConstraint(models.F('collection'), models.F('path'), name='watched_folder_once', violation_error_message='This collection already watches that folder.'),
                    models.CheckConstraint(condition=models.Q(('poll_seconds__gte', 5)), name='watched_folder_poll_seconds', violation_error_message='The scan interval must be at least 5 seconds.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='WatchedFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(help_text='Relative to the folder.', max_length=1000)),
                ('size', models.PositiveBigIntegerField()),
                ('mtime_ns', models.BigIntegerField()),
                ('sha256', models.CharField(blank=True, db_index=True, max_length=64)),
                ('state', models.CharField(choices=[('settling', 'Waiting until unchanged'), ('taken', 'In the collection'), ('duplicate', 'Same content as another file'), ('refused', 'Refused'), ('unreadable', 'Cannot be read')], default='settling', max_length=10)),
                ('message', models.TextField(blank=True)),
                ('missing_since', models.DateTimeField(blank=True, null=True)),
                ('deletion_confirmed', models.BooleanField(default=False)),
                ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='watched_files', to='ingestion.document')),
                ('folder', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='ingestion.watchedfolder')),
            ],
            options={
                'ordering': ('folder', 'path'),
                'constraints': [
                    models.UniqueConstraint(models.F('folder'), models.F('path'), name='watched_file_once'),
                ],
            },
        ),
        migrations.RunSQL(TERMS_IN_THE_ROW, TERMS_OUT_OF_THE_ROW),
    ]
