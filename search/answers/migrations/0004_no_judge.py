from django.db import migrations

# The column stays for one release: web servers of the version before use it during an upgrade.
DEFAULT = "ALTER TABLE answers_answerprofile ALTER judge SET DEFAULT false"


class Migration(migrations.Migration):
    dependencies = [("answers", "0003_marks_alone")]

    operations = [
        migrations.RunSQL(DEFAULT, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField("answerprofile", "judge")]
        ),
    ]
