"""Install four groups of users, the shipped profiles, classifier rules and identifier patterns.

After every migration. Existing rows are not changed: an administrator may have edited them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from decimal import Decimal

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.utils import timezone

from ingestion.identifiers import DEFAULT_PATTERNS
from ingestion.models import IdentifierPattern
from search.domain import KNOBS, Profile
from search.models import ClassRule, ClassWeights, SearchProfile
from search.presets.default import DEFAULT, Preset
from search.presets.seeds import PRESETS
from search.query.shipped_classifier_rules import RULES
from search.ranking.text_boosts import as_json
from search.tuning import activation
from search.tuning.models import ProfileChange

SEEN = (
    "search.classrule", "search.classweights", "search.hide", "search.pin",
    "search.scopeprofile", "search.searchprofile", "search.synonym",
    "tuning.evaluationrun", "tuning.goldenquery", "tuning.judgement",
    "tuning.profilechange", "tuning.publication", "tuning.publishgate",
    "answers.answersettings", "answers.modelprice", "answers.answerlimits",
    "ingestion.identifierpattern",
)  # fmt: skip
EDITED = (
    "search.searchprofile", "search.classrule", "search.synonym", "search.pin", "search.hide",
    "ingestion.identifierpattern",
)  # fmt: skip


def _right(action: str, model: str) -> str:
    """The name “app.action_model” of the permission for an action on `app.model`."""
    app, _, name = model.partition(".")
    return f"{app}.{action}_{name}"


VIEWER = tuple(_right("view", model) for model in SEEN)
JUDGE = (
    *VIEWER,
    "tuning.add_goldenquery",
    "tuning.change_goldenquery",
    "tuning.add_judgement",
    "tuning.change_judgement",
    "tuning.delete_judgement",
)
TUNER = (
    *JUDGE,
    # Searches are private: judges and viewers do not see them.
    "analytics.view_searchevent",
    "analytics.view_gap",
    "analytics.change_gap",
    "answers.view_answer",
    "tuning.delete_goldenquery",
    "tuning.add_evaluationrun",
    "tuning.change_evaluationrun",
    *(_right(action, model) for model in EDITED for action in ("add", "change", "delete")),
)
PUBLISHER = (
    *TUNER,
    "search.publish_searchprofile",
    "search.override_gate",
    "search.rollback_searchprofile",
    "tuning.change_publishgate",
    "answers.change_answersettings",
    "answers.change_answerlimits",
    *(_right(action, "answers.modelprice") for action in ("add", "change", "delete")),
    # They take effect at once, as publishing does.
    *(_right(action, "search.scopeprofile") for action in ("add", "change", "delete")),
)
GROUPS = {
    "Search viewers": {*VIEWER},
    "Search judges": {*JUDGE},
    "Search tuners": {*TUNER},
    "Search publishers": {*PUBLISHER},
}
"""Each group's permissions, as `app.codename`."""


def register_model(model: str) -> None:
    """Let viewers see, and tuners edit, the rows of a part's model: `app.model`."""
    for rights in GROUPS.values():
        rights.add(_right("view", model))
    for name in ("Search tuners", "Search publishers"):
        GROUPS[name] |= {_right(action, model) for action in ("add", "change", "delete")}


@transaction.atomic
def install_groups() -> None:
    """Create missing groups with their permissions."""
    missing = [name for name in GROUPS if not Group.objects.filter(name=name).exists()]
    if not missing:
        return
    # Django also creates permissions after migrations, but in no guaranteed order.
    for app in sorted({right.partition(".")[0] for rights in GROUPS.values() for right in rights}):
        create_permissions(apps.get_app_config(app), verbosity=0)
    for name in missing:
        group = Group.objects.create(name=name)
        group.permissions.set(_permissions(GROUPS[name]))


def _permissions(names: Iterable[str]) -> list[Permission]:
    expected = set(names)
    codenames = {name.partition(".")[2] for name in expected}
    rows = Permission.objects.filter(codename__in=codenames).select_related("content_type")
    by_name = {f"{row.content_type.app_label}.{row.codename}": row for row in rows}
    if lacking := sorted(expected - by_name.keys()):
        raise LookupError(f"Unknown permissions of a group: {', '.join(lacking)}.")
    return [by_name[name] for name in sorted(expected)]


# Columns of the same name hold the other knobs.
_ELSEWHERE = {"normalisers", "boosts"}


@transaction.atomic
def install_presets() -> None:
    """Install the missing shipped profiles, rules and patterns; leave the others alone.

    The default profile becomes active only if no profile is.
    """
    for preset in PRESETS:
        _install_profile(preset)
    _install_rules()
    _install_patterns()
    if not SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).exists():
        default = SearchProfile.objects.get(name=DEFAULT.name, version=DEFAULT.profile.version)
        activation.activate(
            default,
            action=ProfileChange.Action.PUBLISHED,
            acting_user=None,
            reason="Installed with Steelyard.",
            findings=["No profile was active, so nothing was measured."],
        )


def columns(profile: Profile) -> dict[str, object]:
    """A profile's settings as the columns of its row; without its name, version and weights."""
    plain = (each.name for each in KNOBS if each.name not in _ELSEWHERE)
    return {
        **{name: getattr(profile, name) for name in plain},
        **{f"{signal}_normaliser": each for signal, each in profile.normalisers.items()},
        "boosts": as_json(profile.boosts),
    }


def _install_profile(preset: Preset) -> None:
    profile = preset.profile
    row, created = SearchProfile.objects.get_or_create(
        name=profile.name,
        version=profile.version,
        defaults={
            "description": preset.description,
            "state": SearchProfile.State.RETIRED,
            "published": timezone.now(),
            **columns(profile),
        },
    )
    if not created:
        return
    ClassWeights.objects.bulk_create(
        ClassWeights(
            profile=row,
            query_class=query_class,
            # As its shortest decimal: the database checks that the decimals sum to 1.
            **{signal: Decimal(str(share)) for signal, share in weights.as_dict().items()},
        )
        for query_class, weights in profile.weights.items()
    )


def _install_rules() -> None:
    for position, rule in enumerate(RULES, start=1):
        defaults = {"position": position * 10, **asdict(rule)}
        ClassRule.objects.get_or_create(name=rule.name, defaults=defaults)


def _install_patterns() -> None:
    places = dict(IdentifierPattern.objects.values_list("name", "position"))
    for position, shipped in enumerate(DEFAULT_PATTERNS, start=1):
        # Before those that follow: they may have the positions of an earlier release.
        later = (places.get(one.name, position * 10) for one in DEFAULT_PATTERNS[position:])
        defaults = {"position": min([position * 10, *later]), **asdict(shipped)}
        IdentifierPattern.objects.get_or_create(name=shipped.name, defaults=defaults)
