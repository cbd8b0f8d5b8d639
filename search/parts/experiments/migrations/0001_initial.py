"""The part adopts the table of experiments, and the permissions on it."""


import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import search.tuning.models.experiments

MOVED = "UPDATE django_content_type SET app_label = '{}' WHERE app_label = '{}' AND model = 'experiment'"


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
        ('search', '0004_section_words'),
        ('tuning', '0005_experiments_are_a_part'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(
            MOVED.format('experiments', 'tuning'), MOVED.format('tuning', 'experiments'),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
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
                        ('state', models.CharField(choices=[('draft', 'Not started'), ('checking', 'Being measured'), ('running', 'Running'), ('ended', 'Ended')], default='draft', max_length=8)),
                        ('share', models.FloatField(default=1.0, help_text='Share of visitors who take part, 0.01 to 1; the others are not affected.', validators=[django.core.validators.MinValueValidator(0.01), django.core.validators.MaxValueValidator(1)])),
                        ('indifference', models.FloatField(default=0.02, help_text='Minimum effect size: a share of preferences that is nearer to a half counts as none.', validators=[django.core.validators.MinValueValidator(0.001), django.core.validators.MaxValueValidator(0.5)])),
                        ('days', models.PositiveSmallIntegerField(default=28, help_text='Days after which the experiment ends, decided or not.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(365)], verbose_name='longest run')),
                        ('salt', models.CharField(default=search.tuning.models.experiments.new_salt, editable=False, max_length=32)),
                        ('started', models.DateTimeField(blank=True, editable=False, null=True)),
                        ('ended', models.DateTimeField(blank=True, editable=False, null=True)),
                        ('end_reason', models.TextField(blank=True, editable=False)),
                        ('verdict', models.JSONField(blank=True, default=dict, editable=False)),
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
                        'db_table': 'tuning_experiment',
                        'ordering': ('-created', '-pk'),
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('state',), name='experiment_one_running', violation_error_message='Another experiment is running. End it first.'), models.CheckConstraint(condition=models.Q(('a', models.F('b')), _negated=True), name='experiment_compares_two', violation_error_message='Choose two different profiles.'), models.CheckConstraint(condition=models.Q(('share__gt', 0), ('share__lte', 1)), name='experiment_share_range', violation_error_message='The share must lie between 0.01 and 1.')],
                    },
                ),
            ],
        ),
    ]
