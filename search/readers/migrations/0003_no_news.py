from django.db import migrations

# The table and the columns stay for one release: workers and web servers of the version before use
# them during an upgrade. The table's rows go with their search, which Django no longer sees to.
KEPT = """
DO $$ DECLARE key record; BEGIN
    FOR key IN SELECT conname AS name, pg_get_constraintdef(oid) AS words FROM pg_constraint
               WHERE conrelid = 'readers_find'::regclass AND confdeltype = 'a'
    LOOP
        EXECUTE format(
            'ALTER TABLE readers_find DROP CONSTRAINT %I, ADD CONSTRAINT %I %s',
            key.name, key.name, replace(key.words, 'DEFERRABLE', 'ON DELETE CASCADE DEFERRABLE')
        );
    END LOOP;
END $$;
ALTER TABLE readers_savedsearch ALTER mails SET DEFAULT false, ALTER checked_at SET DEFAULT now();
"""


class Migration(migrations.Migration):
    dependencies = [("readers", "0002_no_feeds")]

    operations = [
        migrations.RunSQL(KEPT, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("Find"),
                migrations.RemoveField("savedsearch", "mails"),
                migrations.RemoveField("savedsearch", "checked_at"),
                migrations.RemoveField("readersettings", "mailed_at"),
            ]
        ),
    ]
