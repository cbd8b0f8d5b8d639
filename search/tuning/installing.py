"""Install the shipped profiles, classifier rules and identifier patterns."""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from ingestion.identifiers import DEFAULT_PATTERNS
from ingestion.models import IdentifierPattern
from search.domain import KNOBS, Profile
from search.models import ClassRule, ClassWeights, SearchProfile
from search.presets.default import DEFAULT, Preset
from search.presets.shipped import PRESETS
from search.query.rules import RULES
from search.ranking.boosts import as_json
from search.tuning.models import ProfileChange
from search.tuning.publishing import activation

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
        ClassRule.objects.get_or_create(
            name=rule.name,
            defaults={
                "position": position * 10,
                "pattern": rule.pattern,
                "predicate": rule.predicate,
                "query_class": rule.query_class,
                "confidence": rule.confidence,
                "examples": list(rule.examples),
                "counter_examples": list(rule.counter_examples),
            },
        )


def _install_patterns() -> None:
    for position, shipped in enumerate(DEFAULT_PATTERNS, start=1):
        IdentifierPattern.objects.get_or_create(
            name=shipped.name,
            defaults={
                "regex": shipped.regex,
                "normaliser": shipped.normaliser,
                "examples": list(shipped.examples),
                "counter_examples": list(shipped.counter_examples),
                "position": position * 10,
            },
        )
