"""People. A custom model from the first release on: changing it later would cost migrations."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.db import models


class UserManager(DjangoUserManager["User"]):
    @classmethod
    def normalize_email(cls, email: str | None) -> Any:
        """The address in lower case; None for an empty one, so that many users may lack one."""
        return super().normalize_email(email).strip().lower() or None


class User(AbstractUser):
    """A person who may sign in, by username. An e-mail address belongs to one user at most."""

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
