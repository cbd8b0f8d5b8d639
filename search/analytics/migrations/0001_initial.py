import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import pgvector.django.vector
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('search', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Gap',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('open', 'Open'), ('closed', 'Closed'), ('dismissed', 'Dismissed')], default='open', max_length=9)),
                ('note', models.TextField(blank=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('closed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('owner', models.ForeignKey(blank=True, help_text='The person who will write the missing document.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'search gap',
                'ordering': ('-created', '-pk'),
                'indexes': [
                    models.Index(fields=['state'], name='gap_state'),
                ],
            },
        ),
        migrations.CreateModel(
            name='GapStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('synonym', 'Synonym'), ('pattern', 'Identifier pattern'), ('pin', 'Pin'), ('judgement', 'Judgement'), ('document', 'Needs a document'), ('dismissed', 'Dismissed'), ('closed', 'Closed'), ('reopened', 'Reopened')], max_length=10)),
                ('at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('note', models.TextField(blank=True)),
                ('query', models.CharField(blank=True, help_text='The wording that was searched.', max_length=1000)),
                ('before', models.JSONField(blank=True, null=True)),
                ('after', models.JSONField(blank=True, null=True)),
                ('gap', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='analytics.gap')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='GapWording',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('query', models.CharField(max_length=1000)),
                ('folded', models.CharField(max_length=500, unique=True)),
                ('vector', pgvector.django.vector.VectorField(null=True)),
                ('space', models.CharField(blank=True, max_length=200)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('gap', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='wordings', to='analytics.gap')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='GapSign',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('zero', 'Nothing found'), ('down', 'Thumb down'), ('reformulated', 'Asked again in other words'), ('unsure', 'Low confidence'), ('no_click', 'Nothing opened')], max_length=12)),
                ('visitor', models.CharField(max_length=64)),
                ('sources', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None)),
                ('collections', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=120), blank=True, default=list, size=None)),
                ('first', models.DateTimeField()),
                ('last', models.DateTimeField(db_index=True)),
                ('anonymised', models.BooleanField(default=False)),
                ('wording', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='signs', to='analytics.gapwording')),
            ],
            options={
                'ordering': ('pk',),
                'constraints': [
                    models.UniqueConstraint(models.F('wording'), models.F('kind'), models.F('visitor'), models.F('sources'), models.F('collections'), name='gap_sign_once_per_visitor'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SearchEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('search_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('channel', models.CharField(choices=[('page', 'Search page'), ('api', 'API')], max_length=4)),
                ('query', models.CharField(max_length=1000)),
                ('folded', models.CharField(db_index=True, max_length=500)),
                ('visitor', models.CharField(blank=True, max_length=64)),
                ('query_class', models.CharField(choices=[('lookup', 'Lookup: a name or an identifier'), ('concept', 'Concept: what something is, how it works'), ('code', 'Code: how to write something'), ('debug', 'Debug: an error, something not working'), ('comparison', 'Comparison: one thing against another'), ('general', 'General: everything else')], max_length=12)),
                ('rule', models.CharField(blank=True, max_length=120)),
                ('profile_name', models.CharField(max_length=80)),
                ('collections', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=120), blank=True, default=list, size=None)),
                ('sources', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None)),
                ('page', models.PositiveIntegerField(default=1)),
                ('total', models.PositiveIntegerField()),
                ('results', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, size=None)),
                ('first_rank', models.PositiveIntegerField(default=1)),
                ('best_click', models.PositiveIntegerField(blank=True, null=True)),
                ('milliseconds', models.FloatField()),
                ('confidence', models.FloatField(blank=True, null=True)),
                ('unsure', models.BooleanField(default=False, help_text="Below the profile's threshold.")),
                ('corrected_from', models.CharField(blank=True, max_length=1000)),
                ('degraded', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), blank=True, default=list, size=None)),
                ('anonymised', models.BooleanField(default=False)),
                ('gathered', models.BooleanField(default=False, help_text='Processed for search gaps.')),
                ('experiment', models.PositiveBigIntegerField(blank=True, db_index=True, null=True)),
                ('arm', models.CharField(blank=True, max_length=12)),
                ('teams', models.CharField(blank=True, max_length=100)),
                ('follows', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='continuations', to='analytics.searchevent')),
                ('profile', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='search.searchprofile')),
                ('user', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'search',
                'verbose_name_plural': 'searches',
                'ordering': ('-at', '-pk'),
                'indexes': [
                    models.Index(fields=['visitor', 'at'], name='event_of_visitor'),
                    models.Index(condition=models.Q(('gathered', False)), fields=['id'], name='event_to_gather'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Interaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('click', 'Opened'), ('dwell', 'Read'), ('up', 'Thumb up'), ('down', 'Thumb down'), ('solved', 'Question answered'), ('unsolved', 'Question not answered')], max_length=8)),
                ('document', models.UUIDField(blank=True, help_text="The document's public id.", null=True)),
                ('rank', models.PositiveIntegerField(blank=True, help_text='Rank among the results, from 1.', null=True)),
                ('seconds', models.FloatField(blank=True, help_text='Reading time in seconds.', null=True)),
                ('team', models.CharField(blank=True, help_text='Interleaving team of the result.', max_length=1)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('event', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='interactions', to='analytics.searchevent')),
            ],
            options={
                'ordering': ('at', 'pk'),
                'constraints': [
                    models.UniqueConstraint(fields=('event', 'kind', 'document'), name='interaction_once_per_result', nulls_distinct=False),
                    models.CheckConstraint(condition=models.Q(models.Q(('document', None), ('kind__in', ('solved', 'unsolved')), ('rank', None)), models.Q(models.Q(('document', None), _negated=True), models.Q(('rank', None), _negated=True), models.Q(('kind__in', ('solved', 'unsolved')), _negated=True)), _connector='OR'), name='interaction_names_a_result_or_all'),
                ],
            },
        ),
    ]
