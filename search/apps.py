"""The applications of search: each registers its own with the core, and listens to its changes."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate, post_save, pre_delete, pre_save
from django.utils.translation import gettext_lazy as _


class SearchConfig(AppConfig):
    """The core: its signals; it reloads the changed configuration."""

    default = True
    name = "search"

    def ready(self) -> None:
        from ingestion.events import currency_changed
        from ingestion.spaces.report import register_remarks
        from search import export_parts
        from search.engine import configuration, similarity_background
        from search.signals import keyword, recency, registry, synonym, title, vector

        registry.register(
            keyword.KeywordSignal(),
            title.TitleSignal(),
            vector.VectorSignal(),
            recency.RecencySignal(),
            synonym.SynonymSignal(),
        )
        export_parts.attach_all()
        register_remarks(similarity_background.remarks)
        for model in configuration.WATCHED:
            post_save.connect(configuration.bump, sender=model)
            post_delete.connect(configuration.bump, sender=model)
        currency_changed.connect(configuration.note_currency)


class ReadersConfig(AppConfig):
    name = "search.readers"
    label = "readers"
    verbose_name = _("Readers")


class AnalyticsConfig(AppConfig):
    name = "search.analytics"
    label = "analytics"
    verbose_name = _("Search analytics")

    def ready(self) -> None:
        from common.audit import trail
        from search.analytics.models import GapStep

        trail.register(GapStep, _gap_entry)


class TuningConfig(AppConfig):
    name = "search.tuning"
    label = "tuning"
    verbose_name = _("Tuning")

    def ready(self) -> None:
        from common.audit import trail
        from search.tuning.models import ProfileChange

        trail.register(ProfileChange, _profile_entry, "profile")
        post_migrate.connect(_install, sender=self)
        pre_delete.connect(_forget_title, sender="ingestion.Document")
        pre_save.connect(_follow_slug, sender="ingestion.Collection")


class AnswersConfig(AppConfig):
    name = "search.answers"
    label = "answers"
    verbose_name = _("Answers")

    def ready(self) -> None:
        post_migrate.connect(_install_answers, sender=self)
        pre_delete.connect(_forget_text, sender="ingestion.Document")


def _follow_slug(instance: Any, update_fields: Any = None, **_: Any) -> None:
    """Golden queries keep their collection when its slug changes."""
    from search.tuning.models import GoldenQuery

    if update_fields is not None and "slug" not in update_fields:
        return
    renamed = type(instance).objects.filter(pk=instance.pk).exclude(slug=instance.slug)
    for old in renamed.values_list("slug", flat=True):
        for query in GoldenQuery.objects.filter(collections__contains=[old]):
            query.collections = sorted({*query.collections, instance.slug} - {old})
            query.save(update_fields=["collections"])


def _gap_entry(step: Any) -> dict[str, Any]:
    """A step of a search gap as an entry of the audit trail: without the question of a reader."""
    return {"kind": f"gap_{step.kind}", "subject": f"gap {step.gap_id}", "details": {}}


def _profile_entry(change: Any) -> dict[str, Any]:
    """A change of a search profile as an entry of the audit trail."""
    details = {"reason": change.reason, "changes": change.differences, "gate": change.findings}
    return {"kind": f"profile_{change.action}", "subject": change.profile, "details": details}


def _install(using: str, plan: list[Any] | None = None, **kwargs: Any) -> None:
    """Install the missing groups, profiles, rules and patterns; leave existing ones unchanged."""
    from search.tuning.install_defaults import install_groups, install_presets

    undone = any(backwards for _, backwards in plan or ())
    if using == "default" and not undone:  # they need the newest tables
        install_groups()
        install_presets()


def _forget_title(instance: Any, **_signal: Any) -> None:
    """Clear the title of a permanently deleted document in its judgements."""
    from search.tuning.models import Judgement

    Judgement.objects.filter(reference=instance.public_id).exclude(title="").update(title="")


def _install_answers(using: str, plan: list[Any] | None = None, **kwargs: Any) -> None:
    """Install the rows of the answer settings and limits, if missing."""
    undone = any(backwards for _, backwards in plan or ())
    if using == "default" and not undone:  # it needs the newest tables
        from search.answers.models import AnswerLimits, AnswerSettings

        AnswerLimits.objects.get_or_create(pk=1)
        AnswerSettings.objects.get_or_create(pk=1)


def _forget_text(instance: Any, **_signal: Any) -> None:
    """Clear the texts of answers that stand on a permanently deleted document."""
    from search.answers.models import Answer

    Answer.objects.filter(sources__document=instance).update(text="", sentences=[])
