from django.db import migrations, models

UNSENT = """
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE tuning_alert SET to_mail = true WHERE 'mail' = ANY(wanted) AND NOT 'mail' = ANY(delivered);
"""


class Migration(migrations.Migration):
    dependencies = [("tuning", "0008_less45_golden_runs")]

    operations = [
        migrations.AddField(
            "alert", "to_mail", models.BooleanField(db_default=False, default=False)
        ),
        migrations.RunSQL(UNSENT, migrations.RunSQL.noop),
        migrations.RemoveConstraint("alert", "alert_delivered_as_wanted"),
        migrations.RemoveField("alert", "wanted"),
        migrations.RemoveField("alert", "delivered"),
    ]
