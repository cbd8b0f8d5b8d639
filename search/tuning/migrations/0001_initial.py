import uuid

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import search.tuning.models.experiments


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('ingestion', '0001_initial'),
        ('search', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PoolBuild',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True, editable=False, help_text='What went wrong and what to do.')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('key', models.CharField(max_length=64, unique=True)),
                ('width', models.JSONField()),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=9)),
                ('progress', models.FloatField(default=0.0, help_text='Share of the queries done, 0 to 1.')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='EvaluationRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True, editable=False, help_text='What went wrong and what to do.')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('kind', models.CharField(choices=[('collection', 'Judged collection'), ('golden', 'Golden queries')], default='collection', max_length=10)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='done', max_length=9)),
                ('progress', models.FloatField(default=1.0, help_text='Share of the queries done, 0 to 1.')),
                ('collection', models.CharField(blank=True, max_length=120)),
                ('corpus_hash', models.CharField(blank=True, max_length=64, verbose_name='corpus (SHA-256)')),
                ('queries', models.PositiveIntegerField(default=0)),
                ('by_query', models.JSONField(blank=True, default=dict)),
                ('measures', models.JSONField(default=dict)),
                ('by_class', models.JSONField(default=dict)),
                ('latency_ms', models.JSONField(default=dict, verbose_name='latency (ms)')),
                ('differences', models.JSONField(blank=True, default=dict)),
                ('fingerprint', models.CharField(blank=True, editable=False, max_length=64)),
                ('embedding_space', models.CharField(blank=True, max_length=200)),
                ('code_version', models.CharField(blank=True, max_length=40)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('baseline', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='search.searchprofile')),
                ('profile', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluation_runs', to='search.searchprofile')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'measurement',
                'ordering': ('-created', '-pk'),
                'indexes': [
                    models.Index(fields=['collection', 'profile'], name='run_of_profile'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(max_length=200)),
                ('findings', models.JSONField(default=dict)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('wanted', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), default=list, size=None)),
                ('delivered', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), blank=True, default=list, size=None)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('error', models.TextField(blank=True)),
                ('run', models.OneToOneField(help_text='The evaluation run that raised it; at most one alert per run.', on_delete=django.db.models.deletion.CASCADE, related_name='alert', to='tuning.evaluationrun')),
            ],
            options={
                'ordering': ('-created', '-pk'),
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('delivered__contained_by', models.F('wanted'))), name='alert_delivered_as_wanted'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Experiment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('name', models.CharField(max_length=120, unique=True)),
                ('kind', models.CharField(choices=[('split', 'A/B: each visitor sees one profile'), ('interleaved', 'Interleaved: every visitor sees both, mixed')], default='interleaved', max_length=12)),
                ('state', models.CharField(choices=[('draft', 'Not started'), ('checking', 'Being measured'), ('running', 'Running'), ('ended', 'Ended')], default='draft', max_length=8)),
                ('share', models.FloatField(default=1.0, help_text='Share of visitors who take part, 0.01 to 1; the others are not affected.', validators=[django.core.validators.MinValueValidator(0.01), django.core.validators.MaxValueValidator(1)])),
                ('indifference', models.FloatField(default=0.02, help_text='Minimum effect size: smaller differences count as none. A/B: in the share of visitors who open a result; interleaved: from half of the preferences.', validators=[django.core.validators.MinValueValidator(0.001), django.core.validators.MaxValueValidator(0.5)])),
                ('days', models.PositiveSmallIntegerField(default=28, help_text='Days after which the experiment ends, decided or not.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(365)], verbose_name='longest run')),
                ('salt', models.CharField(default=search.tuning.models.experiments.new_salt, editable=False, max_length=32)),
                ('started', models.DateTimeField(blank=True, editable=False, null=True)),
                ('ended', models.DateTimeField(blank=True, editable=False, null=True)),
                ('end_reason', models.TextField(blank=True, editable=False)),
                ('verdict', models.JSONField(blank=True, default=dict, editable=False)),
                ('history', models.JSONField(blank=True, default=list, editable=False)),
                ('findings', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, editable=False, size=None)),
                ('refusals', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, editable=False, size=None)),
                ('override', models.BooleanField(default=False, editable=False)),
                ('override_reason', models.TextField(blank=True, editable=False)),
                ('note', models.TextField(blank=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('a', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='search.searchprofile', verbose_name='A')),
                ('added_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('asked_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('b', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='search.searchprofile', verbose_name='B')),
                ('run_a', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tuning.evaluationrun')),
                ('run_b', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tuning.evaluationrun')),
            ],
            options={
                'ordering': ('-created', '-pk'),
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('state',), name='experiment_one_running', violation_error_message='Another experiment is running. End it first.'),
                    models.CheckConstraint(condition=models.Q(('a', models.F('b')), _negated=True), name='experiment_compares_two', violation_error_message='Choose two different profiles.'),
                    models.CheckConstraint(condition=models.Q(('share__gt', 0), ('share__lte', 1)), name='experiment_share_range', violation_error_message='The share must lie between 0.01 and 1.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='GoldenQuery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('text', models.CharField(max_length=500)),
                ('folded', models.CharField(editable=False, max_length=500)),
                ('collections', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=120), blank=True, default=list, size=None)),
                ('query_class', models.CharField(blank=True, choices=[('lookup', 'Lookup: a name or an identifier'), ('concept', 'Concept: what something is, how it works'), ('code', 'Code: how to write something'), ('debug', 'Debug: an error, something not working'), ('comparison', 'Comparison: one thing against another'), ('general', 'General: everything else')], help_text='The class that it should have; empty: as classified by the rules.', max_length=12)),
                ('origin', models.CharField(choices=[('person', 'Judged by a person'), ('imported', 'Imported'), ('synthetic', 'Generated from headings and first sentences'), ('clicks', 'From clicks and thumbs')], default='person', max_length=10)),
                ('enabled', models.BooleanField(default=True)),
                ('note', models.TextField(blank=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('added_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('must_be_first', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='ingestion.document')),
            ],
            options={
                'verbose_name_plural': 'golden queries',
                'ordering': ('folded', 'pk'),
                'constraints': [
                    models.UniqueConstraint(models.F('folded'), models.F('collections'), name='golden_query_once', violation_error_message='This question is already a golden query.'),
                    models.CheckConstraint(condition=models.Q(('folded', ''), _negated=True), name='golden_query_asks', violation_error_message='Enter a question.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CandidatePool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(db_index=True, max_length=64)),
                ('corpus', models.CharField(max_length=64)),
                ('asked', models.CharField(help_text='A hash of the question and its collections.', max_length=64)),
                ('facts', models.JSONField()),
                ('rows', models.BinaryField()),
                ('embeddings', models.BinaryField()),
                ('candidates', models.PositiveIntegerField()),
                ('built', models.DateTimeField(default=django.utils.timezone.now)),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pools', to='tuning.goldenquery')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(models.F('query'), models.F('key'), name='pool_once_per_query_and_key'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Judgement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reference', models.UUIDField(editable=False)),
                ('title', models.CharField(blank=True, help_text='The title when judged.', max_length=500)),
                ('grade', models.PositiveSmallIntegerField(validators=[django.core.validators.MaxValueValidator(3)])),
                ('judge_name', models.CharField(max_length=150)),
                ('note', models.TextField(blank=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='ingestion.document')),
                ('judge', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgements', to='tuning.goldenquery')),
            ],
            options={
                'ordering': ('query', '-grade', 'pk'),
                'constraints': [
                    models.UniqueConstraint(models.F('query'), models.F('reference'), models.F('judge_name'), name='judgement_once_per_person'),
                    models.CheckConstraint(condition=models.Q(('grade__lte', 3)), name='judgement_grade_range'),
                ],
            },
        ),
        migrations.CreateModel(
            name='JudgementAction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('grade', 'Judged'), ('first', 'Must be first')], max_length=5)),
                ('reference', models.UUIDField(null=True)),
                ('before', models.JSONField(null=True)),
                ('after', models.JSONField(null=True)),
                ('made_query', models.BooleanField(default=False)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('undone_at', models.DateTimeField(null=True)),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='actions', to='tuning.goldenquery')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-pk',),
                'default_permissions': (),
                'indexes': [
                    models.Index(condition=models.Q(('undone_at', None)), fields=['user', '-id'], name='judgement_action_last'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Optimisation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True, editable=False, help_text='What went wrong and what to do.')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('options', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=9)),
                ('progress', models.FloatField(default=0.0, help_text='Share of the work done, 0 to 1.')),
                ('found', models.JSONField(blank=True, default=dict)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('finished', models.DateTimeField(blank=True, null=True)),
                ('draft', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='search.searchprofile')),
                ('profile', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='optimisations', to='search.searchprofile')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created', '-pk'),
            },
        ),
        migrations.CreateModel(
            name='ProfileChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(choices=[('created', 'Draft created'), ('edited', 'Draft edited'), ('published', 'Published'), ('refused', 'Publishing refused'), ('overridden', 'Published over the gate’s refusal'), ('rolled_back', 'Rolled back to'), ('exp_started', 'Experiment started with'), ('exp_refused', 'Experiment refused'), ('exp_ended', 'Experiment ended')], max_length=12)),
                ('at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('reason', models.TextField(blank=True)),
                ('differences', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None)),
                ('findings', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None)),
                ('profile', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='search.searchprofile')),
                ('replaced', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='search.searchprofile')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='tuning.evaluationrun')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-at', '-pk'),
            },
        ),
        migrations.CreateModel(
            name='Publication',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True, editable=False, help_text='What went wrong and what to do.')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('enqueued_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('not_before', models.DateTimeField(blank=True, editable=False, help_text='Earliest next attempt.', null=True)),
                ('lease', models.UUIDField(blank=True, editable=False, help_text='The attempt that holds it.', null=True)),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('fingerprint', models.CharField(max_length=64)),
                ('by_system', models.BooleanField(default=False)),
                ('reason', models.TextField(blank=True)),
                ('override', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('measuring', 'Being measured'), ('published', 'Published'), ('refused', 'Refused'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='measuring', max_length=9)),
                ('findings', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('refusals', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('asked', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided', models.DateTimeField(null=True)),
                ('profile', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='publications', to='search.searchprofile')),
                ('replaces', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='search.searchprofile')),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='publications', to='tuning.evaluationrun')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-pk',),
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='PublishGate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('enabled', models.BooleanField(default=True, help_text='If switched off, profiles are published without measurement.')),
                ('measure', models.CharField(choices=[('nDCG@10', 'nDCG@10: best answers ranked early'), ('RR@10', 'Reciprocal rank: how early the first answer appears'), ('R@10', 'Recall@10: share of the answers among the first ten results'), ('R@100', 'Recall@100: share of the answers among the first hundred results'), ('P@5', 'Precision@5: share of answers among the first five results'), ('Success@1', 'Hit@1: how often the first result is an answer')], default='nDCG@10', help_text='The measure that must not fall.', max_length=12)),
                ('margin', models.FloatField(default=0.01, help_text="How far the mean may fall below the active profile's: 0.01 is one percentage point. A larger fall is refused if it is significant (its 95% interval lies below 0) or if there are too few queries for an interval.", validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('min_queries', models.PositiveSmallIntegerField(default=20, help_text='With fewer golden queries the mean alone decides, and latency is not checked.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='minimum queries for an interval')),
                ('latency_margin', models.FloatField(default=0.3, help_text='Permitted rise of the 95th percentile of search time: 0.3 is 30%.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(10)], verbose_name='latency margin')),
                ('latency_floor_ms', models.PositiveIntegerField(default=50, help_text='A smaller rise, in milliseconds, is never refused.', verbose_name='latency floor (ms)')),
                ('first_required', models.BooleanField(default=False, help_text='Also refuse if the active profile does not rank the document first either. Otherwise only queries that it satisfies now may not break.', verbose_name='always require “must be first”')),
                ('count_synthetic', models.BooleanField(default=False, help_text='Also measure queries generated from headings and first sentences.', verbose_name='count synthetic queries')),
                ('background_above', models.PositiveSmallIntegerField(default=60, help_text='With more golden queries than this, a worker measures, and a page shows its progress.', verbose_name='measure in the background above')),
            ],
            options={
                'verbose_name_plural': 'publish gate',
                'default_permissions': ('change', 'view'),
                'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='gate_is_one_row')],
            },
        ),
        migrations.CreateModel(
            name='QualityRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('date', models.DateField(unique=True)),
                ('status', models.CharField(choices=[('waiting', 'Being measured'), ('good', 'Good'), ('fell', 'Fell'), ('failed', 'Not measured')], default='waiting', max_length=7)),
                ('fall', models.FloatField(blank=True, null=True)),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='quality_run', to='tuning.evaluationrun')),
            ],
            options={
                'ordering': ('-date',),
                'default_permissions': ('view',),
            },
        ),
    ]
