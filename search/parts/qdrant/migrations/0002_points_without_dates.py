"""The time since which a collection of points is in use, which nothing read."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("qdrant", "0001_initial")]
    operations = [migrations.RemoveField(model_name="pointcollection", name="activated_at")]
