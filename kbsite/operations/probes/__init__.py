"""The probes of this site, grouped by subject, and their registration as Django system checks.

The site imports all of them when it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import ERROR, WARNING, CheckMessage, Error, Info, Tags, run_checks
from django.core.checks import Warning as CheckWarning
from django.core.checks import register as register_check
from django.db import DatabaseError

from common.probes import Finding, Occasion, Probe, State, look, of, wrong

Apps = Sequence[AppConfig] | None
_LEVELS = {State.OK: Info, State.LOOK: CheckWarning, State.WRONG: Error}


def messages(probe: Probe) -> list[CheckMessage]:
    """The findings that have an id; none before the first migrate, or if the server is down."""
    try:
        return [
            _LEVELS[each.state](each.text, hint=each.advice or None, id=f"steelyard.{each.check}")
            for each in probe.examine()
            if each.check
        ]
    except DatabaseError:
        return []


def _register(occasion: Occasion, *tags: str, deploy: bool = False) -> None:
    """Make a system check of Django's out of the probes of an occasion."""

    @register_check(*tags, deploy=deploy)
    def check(
        app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
    ) -> list[CheckMessage]:
        if Tags.database in tags and "default" not in (databases or ()):
            return []
        return [message for probe in of(occasion) for message in messages(probe)]


_register(Occasion.SETTINGS)
_register(Occasion.DEPLOYMENT, Tags.security, deploy=True)
_register(Occasion.ROWS, Tags.database)
_register(Occasion.DEPLOYED_ROWS, Tags.database, deploy=True)


def findings(**options: Any) -> Iterator[Finding]:
    """The warnings and errors of all of Django's checks, for the doctor."""
    for each in run_checks(**options):
        if each.level >= WARNING and not each.is_silenced():
            make = wrong if each.level >= ERROR else look
            yield make(f"{each.msg} ({each.id})", each.hint or "See docs/operations.md.")
