"""`manage.py check`: Django's command, which also prints the limits and isolation of parsers."""

from __future__ import annotations

from typing import Any

from django.core.checks import register
from django.core.management.commands.check import Command as DjangoCheck

from kbsite.checks.machine import check_isolation, list_limits


class Command(DjangoCheck):
    def handle(self, *app_labels: list[str], **options: Any) -> None:
        # Registered here, since every other command runs the checks, too, and should not list them.
        register(list_limits)
        register(check_isolation)
        super().handle(*app_labels, **options)
