from decimal import Decimal

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.db import migrations, models

import search.models.profiles

# A phrase as every text configuration reads it, any of them: one tsquery for chunks of all
# languages. Immutable, so that the planner sees its value and judges how many chunks it leaves.
# A reading without lexemes (nothing but stop words) lets all pass, as !' ' does.
PHRASE = """
CREATE FUNCTION steelyard_phrase(phrase text) RETURNS tsquery
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT string_agg(
        DISTINCT CASE WHEN numnode(reading) = 0 THEN '!'' ''' ELSE reading::text END, ' | '
    )::tsquery
    FROM pg_catalog.pg_ts_config config, phraseto_tsquery(config.oid, phrase) reading
    WHERE config.cfgnamespace = 'pg_catalog'::regnamespace
);
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('ingestion', '0001_initial'),
    ]

    operations = [
        migrations.RunSQL(PHRASE, "DROP FUNCTION steelyard_phrase(text)"),
        migrations.CreateModel(
            name='Calibration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('coefficients', models.JSONField()),
                ('measures', models.JSONField(default=dict)),
                ('trained_on', models.TextField()),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('space', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='calibration', to='ingestion.embeddingspace')),
            ],
        ),
        migrations.CreateModel(
            name='ClassRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, unique=True)),
                ('position', models.PositiveSmallIntegerField(default=100)),
                ('pattern', models.TextField(blank=True, help_text='A case-insensitive regular expression, searched in the question. Begin and end it with \\b, so that “fix” does not match “prefix”.')),
                ('predicate', models.CharField(blank=True, choices=[('is_identifier', 'The query is one identifier'), ('names_identifier', 'The query names an identifier'), ('is_name', 'The query is one word written as a name'), ('is_short', 'The query has at most 2 words')], help_text='Instead of a pattern.', max_length=30)),
                ('query_class', models.CharField(choices=[('lookup', 'Lookup: a name or an identifier'), ('concept', 'Concept: what something is, how it works'), ('code', 'Code: how to write something'), ('debug', 'Debug: an error, something not working'), ('comparison', 'Comparison: one thing against another'), ('general', 'General: everything else')], max_length=12)),
                ('confidence', models.FloatField(default=0.8, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('examples', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, help_text='Questions that the rule must match.', size=None)),
                ('counter_examples', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, help_text='Questions that the rule must not match.', size=None)),
                ('enabled', models.BooleanField(default=True)),
            ],
            options={
                'verbose_name': 'classifier rule',
                'ordering': ('position', 'pk'),
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('pattern', ''), models.Q(('predicate', ''), _negated=True)), models.Q(models.Q(('pattern', ''), _negated=True), ('predicate', '')), _connector='OR'), name='rule_pattern_or_predicate', violation_error_message='Enter either a pattern or a predicate.')],
            },
        ),
        migrations.CreateModel(
            name='ConfigurationStamp',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveBigIntegerField(default=0)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='stamp_is_one_row')],
            },
        ),
        migrations.CreateModel(
            name='SearchProfile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, validators=[django.core.validators.RegexValidator('\\A[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?\\Z', 'Use lower-case letters and digits, separated by - _ . : or /, such as “library:titles”.')])),
                ('version', models.PositiveIntegerField(default=1)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('active', 'Active'), ('retired', 'Retired')], default='draft', max_length=8)),
                ('description', models.TextField(blank=True)),
                ('fusion', models.CharField(choices=[('linear', 'Weighted sum of strengths'), ('rrf', 'Reciprocal rank fusion (ranks only)'), ('combmnz', 'Weighted sum times the number of matching signals (CombMNZ)'), ('max', 'Largest weighted strength')], default='linear', help_text='A weighted sum keeps the differences between scores; rank fusion uses ranks only.', max_length=12)),
                ('vector_normaliser', models.CharField(choices=[('none', 'Unchanged'), ('max', 'Share of the maximum'), ('minmax', 'Min-max scaling'), ('zscore', 'Z-score percentile'), ('reciprocal_rank', 'Reciprocal rank'), ('cosine', '(cosine + 1) / 2')], default='none', max_length=16)),
                ('keyword_normaliser', models.CharField(choices=[('none', 'Unchanged'), ('max', 'Share of the maximum'), ('minmax', 'Min-max scaling'), ('zscore', 'Z-score percentile'), ('reciprocal_rank', 'Reciprocal rank'), ('cosine', '(cosine + 1) / 2')], default='max', max_length=16)),
                ('title_normaliser', models.CharField(choices=[('none', 'Unchanged'), ('max', 'Share of the maximum'), ('minmax', 'Min-max scaling'), ('zscore', 'Z-score percentile'), ('reciprocal_rank', 'Reciprocal rank'), ('cosine', '(cosine + 1) / 2')], default='none', max_length=16)),
                ('classifier', models.CharField(choices=[('rules', 'The classifier rules'), ('none', 'None: every question is general'), ('specificity', "By the share of identifiers among the words (IndexFoundry's option B)"), ('anchors', 'By anchors and length, with weights for each question (IndexFoundry)'), ('definitions', 'Definitions against explanations (textbook)'), ('mind', "Mind's patterns"), ('physical-ai', "Physical AI's patterns")], default='rules', help_text='How queries are classified; the class selects the weights.', max_length=12)),
                ('bypass', models.CharField(blank=True, help_text='A regular expression: matching questions use keywords only, without the embedding model.', max_length=200, validators=[search.models.profiles.check_regex])),
                ('rrf_k', models.PositiveSmallIntegerField(default=60, help_text='For rank fusion: a larger constant reduces the advantage of the first ranks.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='rank constant')),
                ('both_factor', models.FloatField(default=1.0, help_text='For rank fusion: multiplies the score of candidates found by meaning and keywords.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)], verbose_name='factor for both')),
                ('both_first', models.BooleanField(default=False, help_text='Candidates found by both meaning and keywords rank before all others.')),
                ('own_candidates_only', models.BooleanField(default=False, help_text='A signal counts only for the candidates that it retrieved itself.')),
                ('boosts', models.JSONField(blank=True, default=list, help_text='Factors and added terms for passages: a list of objects with name, amount, multiply (true or false), and anchor, pattern, kinds or query_class.', validators=[search.models.profiles.check_boosts])),
                ('feedback', models.FloatField(default=0.0, help_text='Weight of relevance feedback, the similarity to the first results: 0 for none, 0.5 for half as much as the best score.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(2)])),
                ('recency_half_life', models.PositiveIntegerField(default=365, help_text='Age in days at which the recency of a document is halved.', validators=[django.core.validators.MinValueValidator(1)])),
                ('confidence_threshold', models.FloatField(default=0.0, help_text='Below this probability a search reports low confidence and tries the fallback ranking; 0: never.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('depth', models.PositiveSmallIntegerField(default=100, help_text='Candidates per signal (5-500). More candidates improve recall and take longer.', validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(500)])),
                ('keyword_scorer', models.CharField(choices=[('bm25', 'BM25'), ('bm25_fixed', 'BM25 without document frequencies, on parts of words'), ('ts_rank', 'Postgres ts_rank'), ('ts_rank_cd', 'Postgres ts_rank_cd'), ('overlap', 'Matched terms / query terms')], default='bm25', max_length=12)),
                ('keyword_budget', models.PositiveIntegerField(default=20000, help_text='Maximum number of chunks scored by keywords; most questions need far fewer. A low limit can miss passages for questions of common words only.', validators=[django.core.validators.MinValueValidator(100)])),
                ('title_scorer', models.CharField(choices=[('coverage', "Share of the query's weight that the title covers"), ('once', '10 if any term is in the title'), ('per_term', '10 for each term in the title')], default='coverage', max_length=10)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('published', models.DateTimeField(blank=True, editable=False, null=True)),
                ('based_on', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='search.searchprofile')),
            ],
            options={
                'ordering': ('name', '-version'),
                'permissions': (('publish_searchprofile', 'Can publish a search profile that passes the gate'), ('override_gate', 'Can publish a search profile against the gate, with a reason'), ('rollback_searchprofile', 'Can roll back to a previously active search profile')),
                'constraints': [
                    models.UniqueConstraint(models.F('name'), models.F('version'), name='profile_version_once', violation_error_message='This profile already has that version.'),
                    models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('state',), name='profile_one_active', violation_error_message='Another profile is active. Publish this one instead.'),
                    models.CheckConstraint(condition=models.Q(('depth__gte', 5), ('depth__lte', 500)), name='profile_depth_range', violation_error_message='The depth must lie between 5 and 500.'),
                    models.CheckConstraint(condition=models.Q(('rrf_k__gte', 1)), name='profile_rrf_k_positive', violation_error_message='The rank constant must be 1 or more.'),
                    models.CheckConstraint(condition=models.Q(('both_factor__gte', 1)), name='profile_both_factor_lowers_nothing', violation_error_message='What both signals found cannot count for less: the factor must be 1 or more.'),
                    models.CheckConstraint(condition=models.Q(('feedback__gte', 0), ('feedback__lte', 2)), name='profile_feedback_range', violation_error_message='The feedback must lie between 0 and 2.'),
                    models.CheckConstraint(condition=models.Q(('confidence_threshold__gte', 0), ('confidence_threshold__lte', 1)), name='profile_confidence_threshold_range', violation_error_message='The confidence threshold must lie between 0 and 1.'),
                    models.CheckConstraint(condition=models.Q(('recency_half_life__gte', 1)), name='profile_recency_half_life_positive', violation_error_message='The half-life must be a day or more.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ClassWeights',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('query_class', models.CharField(choices=[('lookup', 'Lookup: a name or an identifier'), ('concept', 'Concept: what something is, how it works'), ('code', 'Code: how to write something'), ('debug', 'Debug: an error, something not working'), ('comparison', 'Comparison: one thing against another'), ('general', 'General: everything else')], max_length=12)),
                ('vector', models.DecimalField(decimal_places=4, max_digits=5, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))])),
                ('keyword', models.DecimalField(decimal_places=4, max_digits=5, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))])),
                ('title', models.DecimalField(decimal_places=4, max_digits=5, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))])),
                ('recency', models.DecimalField(decimal_places=4, default=Decimal('0'), max_digits=5, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))])),
                ('synonym', models.DecimalField(decimal_places=4, default=Decimal('0'), max_digits=5, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))])),
                ('profile', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='class_weights', to='search.searchprofile')),
            ],
            options={
                'verbose_name_plural': 'class weights',
                'ordering': ('pk',),
                'constraints': [
                    models.UniqueConstraint(models.F('profile'), models.F('query_class'), name='class_weights_once', violation_error_message='This profile already has weights for that class.'),
                    models.CheckConstraint(condition=models.Q(('keyword__gte', 0), ('recency__gte', 0), ('synonym__gte', 0), ('title__gte', 0), ('vector__gte', 0)), name='class_weights_not_negative', violation_error_message='A weight cannot be negative.'),
                    models.CheckConstraint(condition=models.Q(('vector', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.Value(Decimal('1')), '-', models.F('keyword')), '-', models.F('title')), '-', models.F('recency')), '-', models.F('synonym')))), name='class_weights_sum_to_one', violation_error_message='The weights of a class must sum to 1.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Synonym',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('terms', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), help_text='Words or phrases of the same meaning, such as FK, forward kinematics.', size=20)),
                ('one_way', models.BooleanField(default=False, help_text='Only the first term expands to the others: “vehicle” also finds “lorry”, but not the reverse.')),
                ('enabled', models.BooleanField(default=True)),
                ('note', models.TextField(blank=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ('pk',),
                'constraints': [models.CheckConstraint(condition=models.Q(('terms__len__gte', 2)), name='synonym_needs_two', violation_error_message='Enter at least two words or phrases.')],
            },
        ),
        migrations.CreateModel(
            name='Hide',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('enabled', models.BooleanField(default=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('query', models.CharField(blank=True, help_text='The whole question; capitals and spacing make no difference. Leave empty to hide the document from every question.', max_length=500)),
                ('folded', models.CharField(blank=True, db_index=True, editable=False, max_length=500)),
                ('note', models.TextField(blank=True, help_text='Why it is hidden.')),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.document')),
            ],
            options={
                'ordering': ('folded', 'pk'),
                'constraints': [models.UniqueConstraint(models.F('folded'), models.F('document'), name='hide_once', violation_error_message='This document is already hidden from that question.')],
            },
        ),
        migrations.CreateModel(
            name='Pin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('query', models.CharField(help_text='The whole question; capitals and spacing make no difference.', max_length=500)),
                ('folded', models.CharField(db_index=True, editable=False, max_length=500)),
                ('enabled', models.BooleanField(default=True)),
                ('note', models.TextField(blank=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('position', models.PositiveSmallIntegerField(default=1, help_text='1 comes first.')),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingestion.document')),
            ],
            options={
                'ordering': ('folded', 'position', 'pk'),
                'constraints': [models.UniqueConstraint(models.F('folded'), models.F('document'), name='pin_once', violation_error_message='This document is already pinned to that question.'), models.CheckConstraint(condition=models.Q(('folded', ''), _negated=True), name='pin_has_a_question', violation_error_message='Enter the question that the document is pinned to.')],
            },
        ),
    ]
