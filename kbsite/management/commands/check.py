"""`manage.py check`: Django's command, which also prints the limits and isolation of parsers."""

from __future__ import annotations

from typing import Any

from django.core.checks import register
from django.core.management.commands.check import Command as DjangoCheck

from kbsite.operations.probes.deployment import check_for_people


class Command(DjangoCheck):
    def handle(self, *app_labels: list[str], **options: Any) -> None:
        # Registered here, since every other command runs the checks, too, and should not list them.
        register(check_for_people)
        super().handle(*app_labels, **options)
