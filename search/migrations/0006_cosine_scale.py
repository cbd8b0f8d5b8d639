from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('search', '0005_shares_of_parts'),
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
