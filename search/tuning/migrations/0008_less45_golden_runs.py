from django.db import migrations

# Runs on judged collections, to which nothing refers. The constraints are checked at once, since a
# table cannot be altered while they wait for the commit.
DELETE_OTHERS = """
SET CONSTRAINTS ALL IMMEDIATE;
DELETE FROM tuning_evaluationrun WHERE kind <> 'golden';
"""


class Migration(migrations.Migration):
    dependencies = [("tuning", "0007_run_conditions")]

    operations = [
        migrations.RunSQL(DELETE_OTHERS, migrations.RunSQL.noop),
        migrations.RemoveIndex("evaluationrun", "run_of_profile"),
        migrations.RemoveField("evaluationrun", "kind"),
        migrations.RemoveField("evaluationrun", "collection"),
        migrations.RemoveField("goldenquery", "origin"),
    ]
