"""Spaces without rate limits, prices and the state `retired`; moves without an undo."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

GONE = (
    "held_until", "price", "requests_due", "requests_per_minute", "tokens_due",
    "tokens_per_minute", "tokens_spent",
)  # fmt: skip


def retired_to_paused(apps: Any, schema_editor: Any) -> None:
    """A retired space is one whose filling is paused."""
    spaces = apps.get_model("ingestion", "EmbeddingSpace").objects.filter(state="retired")
    spaces.update(state="building", paused=True, filled_at=None)


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0002_since_0_1_0")]

    operations = [
        migrations.RunPython(retired_to_paused, migrations.RunPython.noop),
        migrations.RemoveConstraint(
            model_name="embeddingspace", name="embedding_space_price_not_negative"
        ),
        *(migrations.RemoveField(model_name="embeddingspace", name=name) for name in GONE),
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
        migrations.DeleteModel(name="DocumentMove"),
    ]
