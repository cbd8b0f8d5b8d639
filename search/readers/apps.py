"""The Django application of readers' own things."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReadersConfig(AppConfig):
    name = "search.readers"
    label = "readers"
    verbose_name = _("Readers")
