from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analytics", "0003_no_arms")]

    operations = [
        # The columns stay for one release: web servers of the version before use them.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("gapstep", "before"),
                migrations.RemoveField("gapstep", "after"),
            ]
        ),
        migrations.AlterField(
            "gapstep",
            "query",
            models.CharField(
                blank=True, help_text="The wording that it is for.", max_length=1000
            ),
        ),
    ]
