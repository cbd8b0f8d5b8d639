from decimal import Decimal

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import search.models.rules
import search.models.scopes

# The words of a text as a phrase sees them: runs of letters and digits, in lower case, stop words
# and the parts of dotted, snake and camel names included. Text search configurations drop stop
# words, stem, and take `paginator.num` for a host (ADR 54).
WORDS = r"""
CREATE FUNCTION steelyard_words(headings text[], content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT strip(to_tsvector('pg_catalog.simple', regexp_replace(concat_ws(
        ' ', array_to_string(headings, ' '), content,
        (SELECT string_agg(regexp_replace(
             name[1],
             '([[:lower:][:digit:]])([[:upper:]])|([[:upper:]])([[:upper:]][[:lower:]])',
             '\1\3 \2\4', 'g'), ' ')
         FROM regexp_matches(
             concat_ws(' ', array_to_string(headings, ' '), content),
             '[[:alnum:]]*[[:lower:][:digit:]][[:upper:]][[:alnum:]]*', 'g') name)
    ), '[^[:alnum:][:space:]]+', ' ', 'g')))
);
"""
# The two indexes come first in the migration: while they are built uploads wait, and searches go on.
CHUNKS = """
CREATE INDEX chunk_words ON ingestion_chunk
USING gin (steelyard_words(heading_path, text)) WITH (fastupdate = off) WHERE searchable;
"""
TITLES = """
CREATE INDEX document_title_words ON ingestion_document
USING gin (steelyard_words(NULL, title)) WITH (fastupdate = off);
"""


class Migration(migrations.Migration):

    replaces = [('search', '0002_longer_questions'), ('search', '0003_constraint_message'), ('search', '0004_short_lean'), ('search', '0005_rerank'), ('search', '0006_scopes_and_learned_classifier'), ('search', '0007_more_signals'), ('search', '0008_exact_words'), ('search', '0009_short_sections'), ('search', '0010_no_learned_classifier')]

    dependencies = [
        ('ingestion', '0001_initial'),
        ('search', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(WORDS, "DROP FUNCTION steelyard_words(text[], text)"),
        migrations.RunSQL(CHUNKS, "DROP INDEX chunk_words"),
        migrations.RunSQL(TITLES, "DROP INDEX document_title_words"),
        migrations.AlterField(
            model_name='classrule',
            name='counter_examples',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=4000), blank=True, default=list, help_text='Questions that the rule must not match.', size=None),
        ),
        migrations.AlterField(
            model_name='classrule',
            name='examples',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=4000), blank=True, default=list, help_text='Questions that the rule must match.', size=None),
        ),
        migrations.AlterField(
            model_name='hide',
            name='query',
            field=models.CharField(blank=True, help_text='The whole question; capitals and spacing make no difference. Leave empty to hide the document from every question.', max_length=4000),
        ),
        migrations.AlterField(
            model_name='pin',
            name='query',
            field=models.CharField(help_text='The whole question; capitals and spacing make no difference.', max_length=4000),
        ),
        migrations.AlterConstraint(
            model_name='searchprofile',
            name='profile_both_factor_lowers_nothing',
            constraint=models.CheckConstraint(condition=models.Q(('both_factor__gte', 1)), name='profile_both_factor_lowers_nothing', violation_error_message='The factor for candidates found by both signals must be 1 or more.'),
        ),
        migrations.AddField(
            model_name='searchprofile',
            name='short_lean',
            field=models.FloatField(default=0.0, help_text="Share of the keywords' weight that moves to meaning for questions of one or two known words; it falls to none at five. Lookups keep their weights.", validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='short questions lean to meaning'),
        ),
        migrations.AddConstraint(
            model_name='searchprofile',
            constraint=models.CheckConstraint(condition=models.Q(('short_lean__gte', 0), ('short_lean__lte', 1)), name='profile_short_lean_range', violation_error_message='The lean of short questions must lie between 0 and 1.'),
        ),
        migrations.AddField(
            model_name='searchprofile',
            name='rerank',
            field=models.FloatField(default=0.0, help_text="The reranker's share of the scores of the first 20 results: 0 for none. Needs a server: see RERANKER_URL in docs/operations.md.", validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='reranker'),
        ),
        migrations.AddConstraint(
            model_name='searchprofile',
            constraint=models.CheckConstraint(condition=models.Q(('rerank__gte', 0), ('rerank__lte', 1)), name='profile_rerank_range', violation_error_message="The reranker's share must lie between 0 and 1."),
        ),
        migrations.CreateModel(
            name='ScopeProfile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('media_type', models.CharField(blank=True, help_text='Instead of a collection: searches restricted to exactly this type use the profile.', max_length=150, validators=[search.models.scopes.check_type], verbose_name='document type')),
                ('profile', models.CharField(help_text='A published profile. Its version in force is used, also after a change.', max_length=60)),
                ('note', models.TextField(blank=True, help_text="Why it differs from the site's profile.")),
                ('collection', models.OneToOneField(blank=True, help_text='Searches restricted to exactly this collection use the profile.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='scope_profile', to='ingestion.collection')),
            ],
            options={
                'verbose_name': 'profile of a scope',
                'verbose_name_plural': 'profiles by scope',
                'ordering': ('collection__name', 'media_type'),
                'constraints': [models.CheckConstraint(condition=models.Q(('collection', None), ('media_type', ''), _connector='XOR'), name='scope_is_collection_or_type', violation_error_message='Choose either a collection or a document type.'), models.UniqueConstraint(condition=models.Q(('media_type', ''), _negated=True), fields=('media_type',), name='scope_type_once', violation_error_message='This document type already names a profile.')],
            },
        ),
        migrations.RemoveConstraint(
            model_name='classweights',
            name='class_weights_not_negative',
        ),
        migrations.RemoveConstraint(
            model_name='classweights',
            name='class_weights_sum_to_one',
        ),
        migrations.AddField(
            model_name='classweights',
            name='concept',
            field=models.DecimalField(decimal_places=4, default=Decimal('0'), max_digits=5, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))]),
        ),
        migrations.AddField(
            model_name='classweights',
            name='wordnet',
            field=models.DecimalField(decimal_places=4, default=Decimal('0'), max_digits=5, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))]),
        ),
        migrations.AddField(
            model_name='searchprofile',
            name='vector_candidates_only',
            field=models.BooleanField(default=False, help_text='Only meaning finds passages, besides identifiers and pins; the other signals only score them.'),
        ),
        migrations.AddField(
            model_name='searchprofile',
            name='wordnet_cap',
            field=models.FloatField(default=0.0, help_text="Above 0, WordNet's weight is higher for short questions and those without a concept, and lower for long ones, up to this share; taken from keywords and title. 0: fixed.", validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='most weight of WordNet'),
        ),
        migrations.AddConstraint(
            model_name='classweights',
            constraint=models.CheckConstraint(condition=models.Q(('concept__gte', 0), ('keyword__gte', 0), ('recency__gte', 0), ('synonym__gte', 0), ('title__gte', 0), ('vector__gte', 0), ('wordnet__gte', 0)), name='class_weights_not_negative', violation_error_message='A weight cannot be negative.'),
        ),
        migrations.AddConstraint(
            model_name='classweights',
            constraint=models.CheckConstraint(condition=models.Q(('vector', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.Value(Decimal('1')), '-', models.F('keyword')), '-', models.F('title')), '-', models.F('recency')), '-', models.F('synonym')), '-', models.F('concept')), '-', models.F('wordnet')))), name='class_weights_sum_to_one', violation_error_message='The weights of a class must sum to 1.'),
        ),
        migrations.AddConstraint(
            model_name='searchprofile',
            constraint=models.CheckConstraint(condition=models.Q(('wordnet_cap__gte', 0), ('wordnet_cap__lte', 1)), name='profile_wordnet_cap_range', violation_error_message='The most weight of WordNet must lie between 0 and 1.'),
        ),
        migrations.AlterField(
            model_name='searchprofile',
            name='confidence_threshold',
            field=models.FloatField(default=0.0, help_text='Below this probability that the first ten results answer, a search warns; 0: never.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='searchprofile',
            name='short_lean',
            field=models.FloatField(default=0.0, help_text="Share of the keywords' weight that moves to meaning for questions of up to five words whose nearest passages are much nearer than the rest; none from ten words on. Lookups keep their weights.", validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='short questions lean to meaning'),
        ),
        migrations.AlterField(
            model_name='searchprofile',
            name='boosts',
            field=models.JSONField(blank=True, default=list, help_text='Factors and added terms for passages: a list of objects with name, amount, multiply (true or false), and anchor, pattern, kinds, shorter_than (characters) or query_class.', validators=[search.models.rules.check_boosts]),
        ),
    ]
