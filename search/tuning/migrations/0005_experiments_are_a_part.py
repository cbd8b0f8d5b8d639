"""The model of experiments moves to its part, whose migrations adopt the table (ADR 33)."""

from django.db import migrations

# On a site without the part nothing but the database forgets who started an experiment, and by
# which runs.
# Not validated: the constraints that they replace held for every row.
SET_NULL = """
DO $$
DECLARE each record;
BEGIN
    FOR each IN SELECT conrelid::regclass AS name, conname, pg_get_constraintdef(oid) AS definition
                FROM pg_constraint
                WHERE contype = 'f' AND conrelid = 'tuning_experiment'::regclass
                      AND confrelid IN ('accounts_user'::regclass, 'tuning_evaluationrun'::regclass)
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s', each.name,
                       each.conname, each.conname,
                       replace(each.definition, ' DEFERRABLE', ' ON DELETE SET NULL DEFERRABLE')
                       || ' NOT VALID');
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("tuning", "0004_interleaved_experiments")]

    operations = [
        migrations.RunSQL(SET_NULL, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("Experiment")],
        ),
    ]
