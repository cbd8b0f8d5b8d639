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


def _messages(scope: Occasion) -> list[CheckMessage]:
    return [message for probe in of(scope) for message in messages(probe)]


@register_check()
def check_settings(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    return _messages(Occasion.SETTINGS)


@register_check(Tags.security, deploy=True)
def check_deployment(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    return _messages(Occasion.DEPLOYMENT)


@register_check(Tags.database)
def check_rows(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    return _messages(Occasion.ROWS) if "default" in (databases or ()) else []


@register_check(Tags.database, deploy=True)
def check_deployed_rows(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    return _messages(Occasion.DEPLOYED_ROWS) if "default" in (databases or ()) else []


def findings(**options: Any) -> Iterator[Finding]:
    """The warnings and errors of all of Django's checks, for the doctor."""
    for each in run_checks(**options):
        if each.level >= WARNING and not each.is_silenced():
            make = wrong if each.level >= ERROR else look
            yield make(f"{each.msg} ({each.id})", each.hint or "See docs/operations.md.")
