"""The Django application of answers."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_delete
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class AnswersConfig(AppConfig):
    name = "search.answers"
    label = "answers"
    verbose_name = _("Answers")

    def ready(self) -> None:
        from common.audit import trail
        from search.answers.models import AnswerProfileChange

        trail.register(AnswerProfileChange, _entry, "profile")
        post_migrate.connect(_install, sender=self)
        pre_delete.connect(_forget_text, sender="ingestion.Document")


def _entry(change: Any) -> dict[str, Any]:
    """A change of an answer profile as an entry of the audit trail."""
    details = {"reason": change.reason, "changes": change.changes}
    return {"kind": f"answers_{change.action}", "subject": change.profile, "details": details}


def _install(using: str, plan: list[Any] | None = None, **kwargs: Any) -> None:
    """Install the default answer profile and the limits, if missing."""
    undone = any(backwards for _, backwards in plan or ())
    if using == "default" and not undone:  # it needs the newest tables
        _create_missing()


def _create_missing() -> None:
    """Create the missing rows; leave existing ones unchanged."""
    from search.answers.models import AnswerLimits, AnswerProfile

    AnswerLimits.objects.get_or_create(pk=1)
    if not AnswerProfile.objects.exists():
        AnswerProfile.objects.create(
            name="default",
            state=AnswerProfile.State.ACTIVE,
            published=timezone.now(),
            description="Shipped with Steelyard.",
        )


def _forget_text(instance: Any, **_signal: Any) -> None:
    """Clear the texts of answers that stand on a permanently deleted document."""
    from search.answers.models import Answer

    Answer.objects.filter(sources__document=instance).update(text="", sentences=[])
