from django.db import migrations, models

UNSENT = """
UPDATE tuning_alert SET to_mail = true WHERE 'mail' = ANY(wanted) AND NOT 'mail' = ANY(delivered);
"""
# The columns stay for one release: web servers of the version before read them during an upgrade.
DEFAULTS = """
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE tuning_alert ALTER wanted SET DEFAULT '{}', ALTER delivered SET DEFAULT '{}';
"""


class Migration(migrations.Migration):
    dependencies = [("tuning", "0008_golden_runs")]

    operations = [
        migrations.AddField(
            "alert", "to_mail", models.BooleanField(db_default=False, default=False)
        ),
        migrations.RunSQL(UNSENT, migrations.RunSQL.noop),
        migrations.RunSQL(DEFAULTS, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint("alert", "alert_delivered_as_wanted"),
                migrations.RemoveField("alert", "wanted"),
                migrations.RemoveField("alert", "delivered"),
            ],
        ),
    ]
