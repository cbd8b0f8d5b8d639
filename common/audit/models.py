"""Events of the audit trail. Nothing changes them; they are deleted after AUDIT_DAYS."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none


class Kind(models.TextChoices):
    SIGNED_IN = "signed_in", _("Signed in")
    SIGNED_OUT = "signed_out", _("Signed out")
    SIGN_IN_FAILED = "sign_in_failed", _("Sign-in failed")
    LOCKED_OUT = "locked_out", _("Locked out")
    CREDENTIALS = "credentials", _("Credentials changed")
    RIGHTS = "rights", _("Rights changed")
    EXPORTED = "exported", _("Exported")
    DELETED = "deleted", _("Deleted")


class Event(models.Model):
    """Something that happened. `user` did it, of whom `username` remains once they are deleted.

    `subject` is whom or what it was done to; `details` never hold a password, a token or a text.
    """

    at = models.DateTimeField(default=timezone.now, db_index=True, editable=False)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    user: Any = user_or_none(db_constraint=False)
    username = models.CharField(max_length=150, blank=True)
    address = models.CharField(max_length=64, blank=True)
    subject = models.CharField(max_length=200, blank=True)
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.get_kind_display()} {self.username}"
