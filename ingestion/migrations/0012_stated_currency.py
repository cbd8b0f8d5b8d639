from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0011_currency'),
    ]

    # Apart from the documents: a search reads both tables, and waits for one of them at most.
    operations = [
        migrations.AddField(
            model_name='documentversion',
            name='stated',
            field=models.JSONField(editable=False, help_text='What file and import state of its currency: ingestion.currency_dates.KEYS.', null=True),
        ),
    ]
