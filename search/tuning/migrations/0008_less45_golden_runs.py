from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def delete_others(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Runs on judged collections: `benchmarks.judged` prints their figures and stores none."""
    apps.get_model("tuning", "EvaluationRun").objects.exclude(kind="golden").delete()


class Migration(migrations.Migration):
    dependencies = [("tuning", "0007_run_conditions")]

    operations = [
        # A table cannot be altered while the deletion's constraints wait for the commit.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RunPython(delete_others, migrations.RunPython.noop),
        migrations.RemoveIndex("evaluationrun", "run_of_profile"),
        migrations.RemoveField("evaluationrun", "kind"),
        migrations.RemoveField("evaluationrun", "collection"),
    ]
