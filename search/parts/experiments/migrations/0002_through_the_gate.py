from django.db import migrations

# The columns stay for one release: web servers of the version before use them during an upgrade.
DEFAULTS = """
ALTER TABLE tuning_experiment
    ALTER override SET DEFAULT false, ALTER override_reason SET DEFAULT '';
"""


class Migration(migrations.Migration):
    dependencies = [("experiments", "0001_initial")]

    operations = [
        migrations.RunSQL(DEFAULTS, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("experiment", "override"),
                migrations.RemoveField("experiment", "override_reason"),
            ]
        ),
    ]
