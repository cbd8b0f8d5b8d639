from django.db import migrations

# The column stays for one release: web servers of the version before use it during an upgrade.
DEFAULT = "ALTER TABLE readers_savedsearch ALTER feed_key SET DEFAULT ''"


class Migration(migrations.Migration):
    dependencies = [("readers", "0001_initial")]

    operations = [
        migrations.RunSQL(DEFAULT, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField("savedsearch", "feed_key")]
        ),
    ]
