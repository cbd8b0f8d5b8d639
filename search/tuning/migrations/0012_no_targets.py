from django.db import migrations

# The table stays for one release: web servers of the version before use it during an upgrade. Its
# rows go with their profile, which Django no longer sees to.
CASCADE = """
DO $$ DECLARE key record; BEGIN
    FOR key IN SELECT conname AS name, pg_get_constraintdef(oid) AS words FROM pg_constraint
               WHERE conrelid = 'tuning_profiletargets'::regclass AND confdeltype = 'a'
    LOOP
        EXECUTE format(
            'ALTER TABLE tuning_profiletargets DROP CONSTRAINT %I, ADD CONSTRAINT %I %s',
            key.name, key.name, replace(key.words, 'DEFERRABLE', 'ON DELETE CASCADE DEFERRABLE')
        );
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("tuning", "0011_no_alerts")]

    operations = [
        migrations.RunSQL(CASCADE, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("ProfileTargets")]
        ),
    ]
