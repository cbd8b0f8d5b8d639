"""The number of the search configuration."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class ConfigurationStamp(models.Model):
    """A number that changes whenever the search configuration changes; the table has one row.

    Processes cache the configuration until the number changes.
    """

    number = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(pk=1), name="stamp_is_one_row"),)

    def __str__(self) -> str:
        return str(self.number)
