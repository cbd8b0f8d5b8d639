"""The Django application of tuning: installs its groups, and connects its receivers."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_delete
from django.utils.translation import gettext_lazy as _


class TuningConfig(AppConfig):
    name = "search.tuning"
    label = "tuning"
    verbose_name = _("Tuning")

    def ready(self) -> None:
        from common.audit import trail
        from search.tuning.models import ProfileChange

        trail.register(ProfileChange, _entry, "profile")
        post_migrate.connect(_install, sender=self)
        pre_delete.connect(_forget_title, sender="ingestion.Document")


def _entry(change: Any) -> dict[str, Any]:
    """A change of a search profile as an entry of the audit trail."""
    details = {"reason": change.reason, "changes": change.differences, "gate": change.findings}
    return {"kind": f"profile_{change.action}", "subject": change.profile, "details": details}


def _install(using: str, plan: list[Any] | None = None, **kwargs: Any) -> None:
    """Install the missing groups, profiles, rules and patterns; leave existing ones unchanged."""
    from search.tuning.installing import install_groups, install_presets

    undone = any(backwards for _, backwards in plan or ())
    if using == "default" and not undone:  # they need the newest tables
        install_groups()
        install_presets()


def _forget_title(instance: Any, **_signal: Any) -> None:
    """Clear the title of a permanently deleted document in its judgements."""
    from search.tuning.models import Judgement

    Judgement.objects.filter(reference=instance.public_id).exclude(title="").update(title="")
