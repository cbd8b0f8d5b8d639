"""`manage.py check`: Django's, which also prints the limits that files are read under."""

from __future__ import annotations

from typing import Any

from django.core.checks import register
from django.core.management.commands.check import Command as DjangoCheck

from kbsite.checks import list_limits


class Command(DjangoCheck):
    def handle(self, *app_labels: list[str], **options: Any) -> None:
        # Registered here: every other command checks the system too, and need not list them.
        register(list_limits)
        super().handle(*app_labels, **options)
