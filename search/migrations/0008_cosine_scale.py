from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('search', '0007_language_lean'),
    ]

    operations = [
        migrations.AddField(
            model_name='spacebackground',
            name='slope',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='spacebackground',
            name='offset',
            field=models.FloatField(null=True),
        ),
    ]
