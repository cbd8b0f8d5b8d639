"""Spaces without rate limits, prices and the state `retired`; moves without an undo; icons.

The columns stay for one release, because version 0.1.0 still reads them while a site is upgraded.
"""

from __future__ import annotations

from django.db import migrations, models

import ingestion.models.collections

COUNTED = ("price", "requests_per_minute", "tokens_per_minute", "tokens_spent")
GONE = (*COUNTED, "held_until", "requests_due", "tokens_due")


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0002_since_0_1_0")]

    operations = [
        migrations.RunSQL(
            [
                f"ALTER TABLE ingestion_embeddingspace ALTER COLUMN {name} SET DEFAULT 0"
                for name in COUNTED
            ],
            migrations.RunSQL.noop,
            state_operations=[
                migrations.RemoveConstraint(
                    model_name="embeddingspace", name="embedding_space_price_not_negative"
                ),
                *(migrations.RemoveField("embeddingspace", name) for name in GONE),
            ],
        ),
        migrations.AlterField(
            model_name="embeddingspace",
            name="state",
            field=models.CharField(
                choices=[
                    ("building", "Building"),
                    ("active", "Active"),
                    ("previous", "Previous"),
                    ("dropping", "Being removed"),
                ],
                default="building",
                max_length=10,
            ),
        ),
        # A retired space is one whose filling is paused.
        migrations.RunSQL(
            "UPDATE ingestion_embeddingspace SET state = 'building', paused = true,"
            " filled_at = NULL WHERE state = 'retired'",
            migrations.RunSQL.noop,
        ),
        migrations.DeleteModel(name="DocumentMove"),
        # Not with 0002, which changes passages: a search reads both tables.
        migrations.AddField(
            model_name="collection",
            name="icon",
            field=models.CharField(
                blank=True,
                help_text="One of the named icons, such as book, or one emoji.",
                max_length=16,
                validators=[ingestion.models.collections.validate_icon],
            ),
        ),
    ]
