import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('tuning', '0002_longer_questions'), ('tuning', '0003_targets'), ('tuning', '0004_answers'), ('tuning', '0005_measure_names')]

    dependencies = [
        ('search', '0002_since_0_1_0'),
        ('tuning', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='goldenquery',
            name='text',
            field=models.CharField(max_length=4000),
        ),
        migrations.AlterField(
            model_name='profilechange',
            name='action',
            field=models.CharField(choices=[('created', 'Draft created'), ('edited', 'Draft edited'), ('published', 'Published'), ('refused', 'Publishing refused'), ('overridden', 'Published over the gate’s refusal'), ('rolled_back', 'Rolled back to'), ('targets', 'Targets changed'), ('exp_started', 'Experiment started with'), ('exp_refused', 'Experiment refused'), ('exp_ended', 'Experiment ended')], max_length=12),
        ),
        migrations.AlterField(
            model_name='evaluationrun',
            name='kind',
            field=models.CharField(choices=[('collection', 'Judged collection'), ('golden', 'Golden queries'), ('answers', 'Answers on a judged collection')], default='collection', max_length=10),
        ),
        migrations.CreateModel(
            name='ProfileTargets',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('p95_ms', models.PositiveIntegerField(blank=True, help_text='The 95th percentile of search time, in milliseconds, is at most this.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='search time (ms)')),
                ('p_at_5', models.FloatField(blank=True, help_text='The share of answers among the first five results is at least this, 0 to 1.', null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='Precision@5')),
                ('hit_at_5', models.FloatField(blank=True, help_text='The share of questions with an answer among the first five, 0 to 1.', null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='Hit@5')),
                ('confidence', models.FloatField(blank=True, help_text='The confidence that a share of the questions should reach, 0 to 1.', null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('confident_share', models.FloatField(blank=True, help_text='At least this share of the questions reaches that confidence, 0 to 1.', null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='share of confident questions')),
                ('profile', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='targets', to='search.searchprofile')),
            ],
            options={
                'verbose_name_plural': 'targets',
                'default_permissions': (),
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('confidence', None), ('confident_share', None)), models.Q(('confidence__isnull', False), ('confident_share__isnull', False)), _connector='OR'), name='targets_confidence_with_its_share', violation_error_message='Enter both the confidence and the share of questions, or neither.')],
            },
        ),
        migrations.AlterField(
            model_name='publishgate',
            name='measure',
            field=models.CharField(choices=[('nDCG@10', 'nDCG@10: best answers ranked early'), ('RR@10', 'MRR@10: how early the first answer appears'), ('R@10', 'Recall@10: share of the answers among the first ten results'), ('R@100', 'Recall@100: share of the answers among the first hundred results'), ('P@5', 'Precision@5: share of answers among the first five results'), ('Success@1', 'Hit@1: how often the first result is an answer')], default='nDCG@10', help_text='The measure that must not fall.', max_length=12),
        ),
    ]
