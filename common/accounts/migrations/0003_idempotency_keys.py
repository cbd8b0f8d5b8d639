import django.core.serializers.json
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """The model moves here from ingestion, whose table it keeps."""

    dependencies = [
        ('accounts', '0002_since_0_1_0'),
        ('ingestion', '0001_initial'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[
            migrations.CreateModel(
                name='IdempotencyKey',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('key', models.CharField(max_length=200)),
                    ('fingerprint', models.CharField(help_text='A hash of the request: reusing the key for another request is an error.', max_length=64)),
                    ('status', models.PositiveSmallIntegerField(help_text='HTTP status of the response; empty while the request is being processed.', null=True)),
                    ('answer', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder, null=True)),
                    ('location', models.CharField(blank=True, max_length=500)),
                    ('created', models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'db_table': 'ingestion_idempotencykey',
                    'default_permissions': (),
                    'constraints': [models.UniqueConstraint(models.F('user'), models.F('key'), name='idempotency_key_once')],
                },
            ),
        ]),
    ]
