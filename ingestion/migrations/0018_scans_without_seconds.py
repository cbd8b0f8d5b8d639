"""The seconds of a folder's last scan, which nothing read."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0017_parts_of_codes")]
    operations = [migrations.RemoveField(model_name="watchedfolder", name="last_seconds")]
