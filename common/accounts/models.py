"""Users, and the rights of their API tokens.

The user model is custom from the first release on: replacing Django's later is costly.
"""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from knox.models import AuthToken


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

    # Part of the secret address of the feed of reviews: one more makes the earlier ones invalid.
    review_feed = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    objects = UserManager()  # type: ignore[misc]

    # The ids of the collections that the request's token is limited to; None without a limit.
    # It is applied where read access is decided: see `CollectionQuerySet.open_to`.
    collections_limit: frozenset[int] | None = None

    # The digest of the token that the request came with; empty for a session. See `tokens`.
    token_used = ""

    # Whether `save` stores another password than before; not set when Django renews its hash.
    _ends_tokens = False

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the user; with a new password, end their API tokens, as Django ends sessions."""
        self.email = UserManager.normalize_email(self.email)
        is_new = self._state.adding
        # Set by Django's set_password, and removed again by the renewal of a hash.
        has_new_password = getattr(self, "_password", None) is not None or self._ends_tokens
        with transaction.atomic():
            super().save(*args, **kwargs)
            if has_new_password and not is_new:
                AuthToken.objects.filter(user=self.pk).delete()
        self._ends_tokens = False

    def set_unusable_password(self) -> None:
        super().set_unusable_password()
        self._ends_tokens = True


class Scope(models.TextChoices):
    """The rights that a token can have; it never has more than its user."""

    READ = "read", _("Read: search, ask, read documents")
    UPLOAD = "upload", _("Upload: add, change and delete documents")
    TUNE = "tune", _("Tune: weights, golden queries, pins, synonyms, analytics")
    ADMINISTER = "administer", _("Administer: collections, embedding spaces, your tokens")


ALL_SCOPES = tuple(Scope.values)
# Tuning and administration concern the whole site: no collection limits them.
LIMITED_SCOPES = frozenset({Scope.READ, Scope.UPLOAD})


class TokenGrant(models.Model):
    """The rights of an API token. A token without a grant has all rights of its user.

    Such tokens are from before there were scopes. `collections` are ids: those of deleted
    collections open nothing. `last_used` is rounded to the hour.
    """

    token = models.OneToOneField(
        AuthToken, models.CASCADE, primary_key=True, related_name="grant", editable=False
    )
    name = models.CharField(max_length=80, blank=True)
    scopes = ArrayField(models.CharField(max_length=12, choices=Scope.choices))
    collections = ArrayField(
        models.BigIntegerField(), null=True, help_text=_("Empty: all that the user may read.")
    )
    last_used = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(collections=None) | Q(scopes__contained_by=sorted(LIMITED_SCOPES)),
                name="token_limit_fits_scopes",
            ),
        )

    def __str__(self) -> str:
        return self.name or str(self.token_id)[:8]


class SignOn(models.Model):
    """A person's last sign-on: when the provider last confirmed the account.

    `refresh_token` is enciphered; empty where the provider gave none. With `withdrawn` the groups
    that the provider's claims opened are taken away, until the next log-in.
    """

    account = models.OneToOneField(
        SocialAccount, models.CASCADE, primary_key=True, related_name="sign_on", editable=False
    )
    refresh_token = models.TextField(blank=True)
    confirmed_at = models.DateTimeField(db_index=True)
    withdrawn = models.BooleanField(default=False)

    def __str__(self) -> str:
        return str(self.account_id)


class Usage(models.Model):
    """A user's usage in one day (of TIME_ZONE); with a `token`, the usage of that token alone."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    token = models.CharField(max_length=128, blank=True)
    day = models.DateField(db_index=True)
    searches = models.PositiveIntegerField(default=0)
    answers = models.PositiveIntegerField(default=0)
    uploads = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)
    # Of files and exports. With a default of the database: the version before inserts rows, too.
    downloaded = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "token", "day"), name="one_usage_a_day"),
        )

    def __str__(self) -> str:
        return f"{self.user_id} {self.day}"


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


class IdempotencyKey(models.Model):
    """An idempotency key of a user's request, and the response to repeat.

    Without `answer` it is what a GET of `location` gives.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(
        max_length=64,
        help_text=_("A hash of the request: reusing the key for another request is an error."),
    )
    status = models.PositiveSmallIntegerField(
        null=True,
        help_text=_("HTTP status of the response; empty while the request is being processed."),
    )
    answer = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    location = models.CharField(max_length=500, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        default_permissions = ()
        db_table = "ingestion_idempotencykey"  # where it was before keys were for all requests
        constraints = (models.UniqueConstraint("user", "key", name="idempotency_key_once"),)

    def __str__(self) -> str:
        return self.key
