"""Experiments interleave alone, and keep no history of their analyses.

The columns stay for one release, because version 0.1.0 still reads them while a site is upgraded.
"""

from __future__ import annotations

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tuning", "0003_people_and_files")]

    operations = [
        # A/B experiments end.
        migrations.RunSQL(
            "UPDATE tuning_experiment SET state = 'ended', ended = now(),"
            " end_reason = 'A/B experiments are gone.'"
            " WHERE kind = 'split' AND state IN ('running', 'checking')",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            [
                "ALTER TABLE tuning_experiment ALTER COLUMN kind SET DEFAULT 'interleaved'",
                "ALTER TABLE tuning_experiment ALTER COLUMN history SET DEFAULT '[]'",
            ],
            migrations.RunSQL.noop,
            state_operations=[
                migrations.RemoveField("experiment", "kind"),
                migrations.RemoveField("experiment", "history"),
            ],
        ),
        migrations.AlterField(
            model_name="experiment",
            name="indifference",
            field=models.FloatField(
                default=0.02,
                help_text="Minimum effect size: a share of preferences that is nearer to a half "
                "counts as none.",
                validators=[
                    django.core.validators.MinValueValidator(0.001),
                    django.core.validators.MaxValueValidator(0.5),
                ],
            ),
        ),
    ]
