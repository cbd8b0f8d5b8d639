from django.db import migrations, models

# Of the generated queries, those that nobody has judged are disabled, not deleted.
IMPORTED = """
UPDATE tuning_goldenquery AS query SET enabled = false
WHERE origin = 'synthetic' AND must_be_first_id IS NULL AND NOT EXISTS (
    SELECT FROM tuning_judgement WHERE query_id = query.id AND judge_name <> 'synthetic'
);
UPDATE tuning_goldenquery SET origin = 'imported' WHERE origin IN ('synthetic', 'clicks');
"""


class Migration(migrations.Migration):
    dependencies = [("tuning", "0002_since_0_1_0")]

    operations = [
        migrations.RunSQL(IMPORTED, migrations.RunSQL.noop),
        migrations.RemoveField(model_name="publishgate", name="count_synthetic"),
        migrations.AlterField(
            model_name="goldenquery",
            name="origin",
            field=models.CharField(
                choices=[("person", "Judged by a person"), ("imported", "Imported")],
                default="person",
                max_length=10,
            ),
        ),
    ]
