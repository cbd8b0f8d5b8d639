from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('analytics', '0002_longer_questions'), ('analytics', '0003_answers')]

    dependencies = [
        ('analytics', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='searchevent',
            name='corrected_from',
            field=models.CharField(blank=True, max_length=4000),
        ),
        migrations.AlterField(
            model_name='searchevent',
            name='query',
            field=models.CharField(max_length=4000),
        ),
        migrations.AlterField(
            model_name='gapsign',
            name='kind',
            field=models.CharField(choices=[('zero', 'Nothing found'), ('down', 'Thumb down'), ('reformulated', 'Asked again in other words'), ('unsure', 'Low confidence'), ('no_click', 'Nothing opened'), ('answer', 'Answer not helpful')], max_length=12),
        ),
        migrations.AlterField(
            model_name='searchevent',
            name='channel',
            field=models.CharField(choices=[('page', 'Search page'), ('api', 'API'), ('mcp', 'Agent (MCP)')], max_length=4),
        ),
    ]
