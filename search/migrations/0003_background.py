import django.db.models.deletion
from django.db import migrations, models

# The table stays for one release, since the version before reads it during an upgrade. Nothing refers to
# spaces from there any more, so that they can be removed.
LOOSEN = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT conname FROM pg_constraint
        WHERE conrelid = 'search_calibration'::regclass AND contype = 'f'
    LOOP
        EXECUTE format('ALTER TABLE search_calibration DROP CONSTRAINT %I', name);
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0004_sections'),
        ('search', '0002_since_0_1_0'),
    ]

    operations = [
        migrations.RunSQL(LOOSEN, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name='Calibration')]),
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
