"""Users. A custom model from the first release on: replacing Django's later is costly."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.db import models


class UserManager(DjangoUserManager["User"]):
    @classmethod
    def normalize_email(cls, email: str | None) -> Any:
        """The address in lower case; None if empty, which may occur more than once."""
        return super().normalize_email(email).strip().lower() or None


class User(AbstractUser):
    """A user, who signs in by username. E-mail addresses are unique, but optional."""

    email = models.EmailField(  # type: ignore[assignment]
        "email address",
        unique=True,
        null=True,
        blank=True,
        error_messages={"unique": "Another user has this e-mail address."},
    )

    objects = UserManager()  # type: ignore[misc]

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.email = UserManager.normalize_email(self.email)
        super().save(*args, **kwargs)


def user_or_none(**options: Any) -> models.ForeignKey[User | None, User | None]:
    """A foreign key to the user who did something; None once the user is deleted.

    Without a reverse name. `options` are those of the field.
    """
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        **options,
    )
