from django.db import migrations

# Table and column stay for one release: web servers of the version before use them during an
# upgrade. The table's rows go with their query and person, which Django no longer sees to.
CASCADE = """
DO $$ DECLARE key record; BEGIN
    FOR key IN SELECT conname AS name, pg_get_constraintdef(oid) AS words FROM pg_constraint
               WHERE conrelid = 'tuning_judgementaction'::regclass AND contype = 'f'
    LOOP
        EXECUTE format(
            'ALTER TABLE tuning_judgementaction DROP CONSTRAINT %I, ADD CONSTRAINT %I %s',
            key.name, key.name, replace(key.words, 'DEFERRABLE', 'ON DELETE CASCADE DEFERRABLE')
        );
    END LOOP;
END $$;
"""
DEFAULT = "ALTER TABLE tuning_evaluationrun ALTER corpus_hash SET DEFAULT ''"


class Migration(migrations.Migration):
    dependencies = [("tuning", "0009_alerts_by_mail")]

    operations = [
        migrations.RunSQL(CASCADE, migrations.RunSQL.noop),
        migrations.RunSQL(DEFAULT, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("JudgementAction"),
                migrations.RemoveField("evaluationrun", "corpus_hash"),
            ]
        ),
    ]
