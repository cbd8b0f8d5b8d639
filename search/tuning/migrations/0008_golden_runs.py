from django.db import migrations

# Runs on judged collections, to which nothing refers.
DELETE_OTHERS = "DELETE FROM tuning_evaluationrun WHERE kind <> 'golden'"
# The columns stay for one release: web servers of the version before read them during an upgrade.
DEFAULTS = """
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE tuning_evaluationrun ALTER kind SET DEFAULT 'golden', ALTER collection SET DEFAULT '';
ALTER TABLE tuning_goldenquery ALTER origin SET DEFAULT 'person';
"""


class Migration(migrations.Migration):
    dependencies = [("tuning", "0007_run_conditions")]

    operations = [
        migrations.RunSQL(DELETE_OTHERS, migrations.RunSQL.noop),
        migrations.RunSQL(DEFAULTS, migrations.RunSQL.noop),
        migrations.RemoveIndex("evaluationrun", "run_of_profile"),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("evaluationrun", "kind"),
                migrations.RemoveField("evaluationrun", "collection"),
                migrations.RemoveField("goldenquery", "origin"),
            ],
        ),
    ]
