"""The configuration of every search, cached until it changes: profiles, rules, patterns, space."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from ingestion import spaces
from ingestion.identifiers import Pattern
from ingestion.models import ChunkEdit, Collection, Document, EmbeddingSpace, IdentifierPattern
from ingestion.models.documents import DATED
from search.domain import ClassifierRule, Pinned, Profile, RunningExperiment
from search.engine import similarity_background
from search.errors import NoActiveProfile, UnknownProfile
from search.models import (
    ClassRule,
    ClassWeights,
    ConfigurationStamp,
    Hide,
    Pin,
    SearchProfile,
    SpaceBackground,
    Synonym,
)
from search.models.curated import hides_by_query, pins_by_query
from search.models.profiles import in_force_first
from search.models.scopes import NO_SCOPES, ScopeProfile, Scopes, read_scopes
from search.query.synonyms import Synonyms
from search.ranking.confidence import Background
from search.ranking.cosine_scale import MINILM, CosineScale

WATCHED = (
    SearchProfile, ClassWeights, ClassRule, IdentifierPattern, EmbeddingSpace, Synonym, Pin, Hide,
    SpaceBackground, ChunkEdit, ScopeProfile, Collection,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Configuration:
    """A consistent snapshot of the administrators' search configuration.

    `published` are profiles by name and version; the first of a name is its version in force.
    `has_currency`: a document is superseded, or valid for some days only. Without, no search asks.
    """

    stamp: int
    active: Profile | None
    published: Mapping[tuple[str, int], Profile] = field(repr=False)
    rules: tuple[ClassifierRule, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    space: EmbeddingSpace | None = None
    synonyms: Synonyms | None = None
    pins: Mapping[str, tuple[Pinned, ...]] = field(default_factory=dict, repr=False)
    hides: Mapping[str, frozenset[int]] = field(default_factory=dict, repr=False)
    background: Background | None = None
    cosine_scale: CosineScale = MINILM
    experiment: RunningExperiment | None = field(default=None, repr=False)
    scopes: Scopes = field(default=NO_SCOPES, repr=False)
    has_currency: bool = False

    def profile(self, key: str | None = None) -> Profile:
        """The active profile, or the published one given by `key`: `name` or `name@version`.

        A name alone means its version in force: the active one, else the last that was published
        or rolled back to. Raises NoActiveProfile, UnknownProfile.
        """
        if not key:
            if self.active is None:
                raise NoActiveProfile(
                    gettext(
                        "No search profile is active. Publish one in the admin under "
                        "Search profiles."
                    )
                )
            return self.active
        name, _, version = key.partition("@")
        if not version:
            numbers = (number for published, number in self.published if published == name)
            version = str(next(numbers, ""))
        if (
            version.isdecimal()
            and len(version) < 10
            and (profile := self.published.get((name, int(version))))
        ):
            return profile
        names = sorted({name for name, _ in self.published})
        raise UnknownProfile(
            gettext("There is no published profile %(key)s. Choose one of: %(names)s.")
            % {"key": f"{key!r}", "names": ", ".join(names) or "none"}
        )

    def in_space(self, space: EmbeddingSpace | None) -> Configuration:
        """The configuration of searches in that space, with its background and its scale."""
        background, scale = similarity_background.read(space)
        return replace(self, space=space, background=background, cosine_scale=scale)


Experiments = Callable[[Mapping[int, Profile]], RunningExperiment | None]
"""Returns the running experiment, given the published profiles by primary key."""

_lock = threading.Lock()
_cached: Configuration | None = None
_experiment: Experiments = lambda profiles: None  # noqa: E731  # until an app registers its own


def register_experiments(running: Experiments) -> None:
    """Register `running` as the source of the experiment in configurations read from now on."""
    global _experiment
    _experiment = running


def current() -> Configuration:
    """The current configuration; one query while it is unchanged."""
    global _cached
    stamp = _stamp()
    configuration = _cached
    if configuration is not None and configuration.stamp == stamp:
        return configuration
    with _lock:
        _cached = _read(stamp)
        return _cached


def _stamp() -> int:
    """The number of the current configuration; 0 before the first change."""
    with connection.cursor() as cursor:  # Django takes four times as long to compile it
        cursor.execute("SELECT number FROM search_configurationstamp WHERE id = 1")
        row = cursor.fetchone()
    return row[0] if row else 0


def bump(**_signal: Any) -> None:
    """Mark the configuration as changed, in the caller's transaction."""
    # Random, not a counter: diverging histories (a restored backup, a rolled back test)
    # must not reach the same number.
    ConfigurationStamp.objects.update_or_create(pk=1, defaults={"number": secrets.randbits(62)})


def note_currency(**_signal: Any) -> None:
    """Mark the configuration as changed, unless searches already check whether documents are
    current.

    A configuration that this process reads now has the change; other processes may still have an
    earlier one.
    """
    if _cached is None or _cached.stamp != _stamp() or not _cached.has_currency:
        bump()


@transaction.atomic
def _read(stamp: int) -> Configuration:
    rows = SearchProfile.objects.exclude(state=SearchProfile.State.DRAFT)
    rows = rows.order_by(*in_force_first())
    profiles = {row: row.as_profile() for row in rows.prefetch_related("class_weights")}
    active = [p for row, p in profiles.items() if row.state == SearchProfile.State.ACTIVE]
    # In the order of `rows`, of which the first of a name is in force.
    in_force = {profile.name: profile for profile in reversed(profiles.values())}
    space = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()
    _load_what_comes_next()
    configuration = Configuration(
        stamp=stamp,
        active=active[0] if active else None,
        published={(p.name, p.version): p for p in profiles.values()},
        rules=tuple(row.as_rule() for row in ClassRule.objects.filter(enabled=True)),
        patterns=tuple(row.as_pattern() for row in IdentifierPattern.objects.filter(enabled=True)),
        synonyms=Synonyms.of(row.as_group() for row in Synonym.objects.filter(enabled=True)),
        pins=pins_by_query(Pin.objects.filter(enabled=True), pinning_edits()),
        hides=hides_by_query(Hide.objects.filter(enabled=True)),
        experiment=_experiment({row.pk: profile for row, profile in profiles.items()}),
        scopes=read_scopes(in_force),
        has_currency=Document.objects.filter(DATED).exists(),
    )
    return configuration.in_space(space)


def _load_what_comes_next() -> None:
    """Preload the models of spaces ready to take over, so that no search waits for them."""
    ready = EmbeddingSpace.objects.filter(
        state=EmbeddingSpace.State.BUILDING, filled_at__isnull=False
    )
    for space in ready:
        spaces.load_ahead(space)


def pinning_edits() -> QuerySet[ChunkEdit]:
    """The manual edits that pin their passages to questions."""
    applied = ChunkEdit.objects.filter(state=ChunkEdit.State.APPLIED, disabled=False)
    pinning = applied.exclude(questions=[]).order_by("pk")
    return pinning.only("questions", "document")
