import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0004_sections'),
        ('search', '0002_since_0_1_0'),
    ]

    operations = [
        migrations.DeleteModel(name='Calibration'),
        migrations.CreateModel(
            name='SpaceBackground',
            fields=[
                ('space', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='ingestion.embeddingspace')),
                ('level', models.FloatField()),
                ('scale', models.FloatField()),
                ('passages', models.PositiveBigIntegerField()),
                ('measured_at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
    ]
