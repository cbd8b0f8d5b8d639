"""The app `backups` is gone; its list of attempts goes with it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "DROP TABLE IF EXISTS backups_backuprun", migrations.RunSQL.noop, elidable=True
        )
    ]
