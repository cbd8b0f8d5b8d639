from django.db import migrations


class Migration(migrations.Migration):
    """The model moves to the accounts; its table stays."""

    dependencies = [
        ('accounts', '0003_idempotency_keys'),
        ('ingestion', '0014_concepts_are_a_part'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[
            migrations.DeleteModel(name='IdempotencyKey'),
        ]),
    ]
