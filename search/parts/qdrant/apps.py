"""The Django application of the part “qdrant”: its tables are there on every site."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class QdrantConfig(AppConfig):
    name = "search.parts.qdrant"
    label = "qdrant"
    verbose_name = _("Qdrant")
