"""Named versions of a configuration, one of them active; and the number of the configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from search.errors import ProfileError

# Variants append what differs: `textbook:60/40`.
NAME = RegexValidator(
    r"\A[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?\Z",
    _("Use lower-case letters and digits, separated by - _ . : or /, such as “library:titles”."),
)


class VersionedProfile(models.Model):
    """A version of a configuration. Published versions never change: a draft replaces them (ADR 5).

    Subclasses add `version_constraints`.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        ACTIVE = "active", _("Active")
        RETIRED = "retired", _("Retired")

    name = models.CharField(max_length=60, validators=[NAME])
    version = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    description = models.TextField(blank=True)
    based_on = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(default=timezone.now, editable=False)
    published = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True
        ordering = ("name", "-version")

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    @property
    def is_draft(self) -> bool:
        return self.state == self.State.DRAFT

    @classmethod
    def active(cls) -> Self | None:
        return cls._default_manager.filter(state=cls.State.ACTIVE).first()

    def locked(self) -> tuple[Self | None, Self]:
        """The active version and this one, read again and locked until the transaction ends.

        One query locks both rows: concurrent publishers must not both retire the same version.
        """
        rows = type(self)._default_manager.select_for_update().order_by("pk")
        rows_locked = list(rows.filter(pk=self.pk) | rows.filter(state=self.State.ACTIVE))
        chosen = next(row for row in rows_locked if row.pk == self.pk)
        return next((row for row in rows_locked if row.state == self.State.ACTIVE), None), chosen

    def succeed(self, before: Self | None) -> None:
        """Become the active version and retire `before`. Both rows are locked."""
        if before is not None:
            before.state = self.State.RETIRED
            before.save(update_fields=["state"])
        self.state, self.published = self.State.ACTIVE, timezone.now()
        self.save(update_fields=["state", "published"])

    def next_draft(self, fields: Iterable[str]) -> Self:
        """The next version of its name, unsaved, with the values of these fields.

        The versions are locked until the transaction ends.
        """
        model = type(self)
        versions = model._default_manager.select_for_update().filter(name=self.name)
        newest = max(row.version for row in versions)
        values = {name: getattr(self, name) for name in fields}
        return model(name=self.name, version=newest + 1, based_on=self, **values)

    @classmethod
    def check_new_name(cls, name: str) -> None:
        """Raise ProfileError if a profile has this name."""
        if cls._default_manager.filter(name=name).exists():
            raise ProfileError(
                gettext(
                    "A profile “%(name)s” already exists. Open it and save your changes as a new "
                    "draft, or choose another name."
                )
                % {"name": name}
            )


def version_constraints(prefix: str) -> tuple[models.UniqueConstraint, models.UniqueConstraint]:
    """The constraints of a kind of profile: a version of a name once, at most one active row."""
    return (
        models.UniqueConstraint(
            "name",
            "version",
            name=f"{prefix}_version_once",
            violation_error_message=_("This profile already has that version."),
        ),
        models.UniqueConstraint(
            fields=("state",),
            condition=Q(state="active"),
            name=f"{prefix}_one_active",
            violation_error_message=_("Another profile is active. Publish this one instead."),
        ),
    )


class ConfigurationStamp(models.Model):
    """A number that changes whenever the search configuration changes; the table has one row.

    Processes cache the configuration until the number changes.
    """

    number = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(pk=1), name="stamp_is_one_row"),)

    def __str__(self) -> str:
        return str(self.number)


def check_settings(names: Iterable[str], editable: Collection[str]) -> None:
    """Raise ProfileError if a name is not one of the editable settings of a profile."""
    if unknown := sorted(set(names) - set(editable)):
        text = gettext("Unknown settings of a profile: %(unknown)s.")
        raise ProfileError(text % {"unknown": ", ".join(unknown)})


Profile = TypeVar("Profile", bound=VersionedProfile)


@dataclass(frozen=True, slots=True)
class ProfileEdit(Generic[Profile]):
    """The result of an edit. Without `changes` nothing was saved and `profile` is the given one."""

    profile: Profile
    changes: tuple[str, ...] = ()
    is_new_draft: bool = False
