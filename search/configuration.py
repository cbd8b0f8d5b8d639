"""What every search is configured by, read once per change: profiles, rules, patterns, space."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from ingestion.identifiers import Pattern
from ingestion.models import EmbeddingSpace, IdentifierPattern
from search.domain import Profile
from search.errors import NoActiveProfile, UnknownProfile
from search.models import ClassRule, ClassWeights, ConfigurationStamp, SearchProfile
from search.query import ClassifierRule

WATCHED = (SearchProfile, ClassWeights, ClassRule, IdentifierPattern, EmbeddingSpace)


@dataclass(frozen=True, slots=True)
class Configuration:
    """A consistent reading of all that administrators decide about search."""

    stamp: int
    active: Profile | None
    published: Mapping[tuple[str, int], Profile] = field(repr=False)
    rules: tuple[ClassifierRule, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    space: EmbeddingSpace | None = None

    def profile(self, key: str | None = None) -> Profile:
        """The active profile, or the published one that `key` names: `name` or `name@version`.

        A name alone means its newest published version. Raises NoActiveProfile, UnknownProfile.
        """
        if not key:
            if self.active is None:
                raise NoActiveProfile(
                    "No search profile is active. Publish one in the admin under Search profiles."
                )
            return self.active
        name, _, version = key.partition("@")
        if not version:
            versions = [number for held, number in self.published if held == name]
            version = str(max(versions, default=0))
        if version.isdecimal() and (found := self.published.get((name, int(version)))):
            return found
        names = sorted({name for name, _ in self.published})
        raise UnknownProfile(
            f"There is no published profile {key!r}. Choose one of: {', '.join(names) or 'none'}."
        )


_lock = threading.Lock()
_held: Configuration | None = None


def current() -> Configuration:
    """The configuration as it stands in the database; one query while nothing has changed."""
    global _held
    stamp = ConfigurationStamp.objects.filter(pk=1).values_list("number", flat=True).first() or 0
    held = _held
    if held is not None and held.stamp == stamp:
        return held
    with _lock:
        _held = _read(stamp)
        return _held


def bump(**_signal: Any) -> None:
    """Marks the configuration as changed, in the caller's transaction."""
    # Random, not counted: two histories that part (a restored backup, a rolled back test)
    # must not come to the same number.
    ConfigurationStamp.objects.update_or_create(pk=1, defaults={"number": secrets.randbits(62)})


@transaction.atomic
def _read(stamp: int) -> Configuration:
    rows = SearchProfile.objects.exclude(state=SearchProfile.State.DRAFT)
    profiles = {row: row.as_profile() for row in rows.prefetch_related("class_weights")}
    active = [p for row, p in profiles.items() if row.state == SearchProfile.State.ACTIVE]
    return Configuration(
        stamp=stamp,
        active=active[0] if active else None,
        published={(p.name, p.version): p for p in profiles.values()},
        rules=tuple(row.as_rule() for row in ClassRule.objects.filter(enabled=True)),
        patterns=tuple(row.as_pattern() for row in IdentifierPattern.objects.filter(enabled=True)),
        space=EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first(),
    )
