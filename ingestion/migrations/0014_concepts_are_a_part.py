"""The model of concepts moves to its part of the search, whose migrations adopt the table (ADR 33).

The column `concept_count` stays for one release: 0.2.0 reads it while a site is upgraded.
"""

from django.db import migrations

# On a site without the part nothing deletes the concepts of a document but the database.
# Not validated: the constraints that they replace held for every row.
CASCADE = """
DO $$
DECLARE each record;
BEGIN
    FOR each IN SELECT conrelid::regclass AS name, conname, pg_get_constraintdef(oid) AS definition
                FROM pg_constraint
                WHERE contype = 'f' AND conrelid = 'ingestion_concept'::regclass
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s', each.name,
                       each.conname, each.conname,
                       replace(each.definition, ' DEFERRABLE', ' ON DELETE CASCADE DEFERRABLE')
                       || ' NOT VALID');
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0013_readers_of_imports")]

    operations = [
        migrations.RunSQL(CASCADE, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("Concept"),
                migrations.RemoveField("documentversion", "concept_count"),
            ],
        ),
    ]
