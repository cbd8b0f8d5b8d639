from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("analytics", "0003_no_arms")]

    operations = [
        # The columns stay for one release: web servers of the version before use them.
        migrations.RunSQL(
            "ALTER TABLE analytics_gapstep ALTER query SET DEFAULT ''", migrations.RunSQL.noop
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("gapstep", "query"),
                migrations.RemoveField("gapstep", "before"),
                migrations.RemoveField("gapstep", "after"),
            ]
        ),
    ]
