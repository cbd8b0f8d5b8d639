"""Searches note no arm of an experiment.

The column stays for one release, because version 0.1.0 still writes it while a site is upgraded.
"""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("analytics", "0002_since_0_1_0")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE analytics_searchevent ALTER COLUMN arm SET DEFAULT ''",
            migrations.RunSQL.noop,
            state_operations=[migrations.RemoveField("searchevent", "arm")],
        ),
    ]
