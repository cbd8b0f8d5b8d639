from django.db import migrations, models

# The columns stay for one release: web servers of the version before use them during an upgrade.
DEFAULTS = """
UPDATE tuning_experiment SET state = 'draft' WHERE state = 'checking';
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE tuning_experiment
    ALTER attempts SET DEFAULT 0, ALTER findings SET DEFAULT '{}', ALTER refusals SET DEFAULT '{}';
"""
GONE = (
    "attempts", "enqueued_at", "not_before", "lease", "leased_until", "run_a", "run_b",
    "findings", "refusals", "asked_by",
)  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("experiments", "0002_through_the_gate")]

    operations = [
        migrations.RunSQL(DEFAULTS, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField("experiment", name) for name in GONE]
        ),
        migrations.AlterField(
            "experiment",
            "state",
            models.CharField(
                choices=[("draft", "Not started"), ("running", "Running"), ("ended", "Ended")],
                default="draft",
                max_length=8,
            ),
        ),
    ]
