"""The reader's API tokens: made with scopes, an expiry and a limit; listed; revoked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from common.accounts import rights, tokens
from common.accounts.models import ALL_SCOPES, Scope, User
from ingestion.models import Collection
from search.pages.me.views import reader_of

EXPIRIES = (7, 30, 90, 365)


class TokenForm(forms.Form):
    """A token to be made."""

    name = forms.CharField(
        max_length=80, label=_("Name"), error_messages={"required": _("Give the token a name.")}
    )
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        label=_("What it may do"),
        error_messages={"required": _("Choose at least one scope.")},
    )
    collections = forms.ModelMultipleChoiceField(
        Collection.objects.none(), required=False, label=_("Only in these collections")
    )
    days = forms.TypedChoiceField(coerce=int, label=_("Expires after"))

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        default = tokens.default_days()
        self.initial = {"days": default, "scopes": [Scope.READ.value]}
        choices = sorted({*EXPIRIES, default})
        self.fields["days"].choices = [(days, days) for days in choices]  # type: ignore[attr-defined]
        readable = Collection.objects.visible_to(user).order_by("name")
        self.fields["collections"].queryset = readable  # type: ignore[attr-defined]

    @property
    def problems(self) -> list[str]:
        """The messages of the form's errors."""
        return [str(text) for texts in self.errors.values() for text in texts]


@dataclass(frozen=True, slots=True)
class Shown:
    """A token as its owner sees it. `collections` is None without a limit."""

    key: str
    name: str
    scopes: tuple[str, ...]
    is_full: bool
    collections: tuple[str, ...] | None
    created: datetime
    expiry: datetime | None
    last_used: datetime | None


@sensitive_variables("token")
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own(request: HttpRequest) -> HttpResponse:
    """The reader's tokens; a posted form makes one, which the response shows this once."""
    user = reader_of(request)
    posted = request.method == "POST"
    form = TokenForm(request.POST if posted else None, user=user)
    token = ""
    if posted and rights.lacks_factor(request):
        form.add_error(None, rights.add_a_factor())
    if posted and form.is_valid():
        given = form.cleaned_data
        limit = [collection.pk for collection in given["collections"]]
        try:
            _row, token = tokens.make(
                user,
                name=given["name"],
                scopes=given["scopes"],
                collections=limit or None,
                days=given["days"],
            )
            form = TokenForm(user=user)
        except tokens.InvalidToken as error:
            form.add_error(None, str(error))
    context = {"form": form, "token": token, "tokens": shown(tokens.alive(user), user)}
    return render(request, "search/me/tokens.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def revoke(request: HttpRequest, key: str) -> HttpResponse:
    """Revoke one of the reader's tokens."""
    tokens.revoke(reader_of(request), key)
    return redirect("search:tokens")


def shown(rows: Iterable[Any], user: User) -> list[Shown]:
    """The tokens as their owner sees them; one query for the names of collections."""
    held = [(row, getattr(row, "grant", None)) for row in rows]
    limits = {pk for _, grant in held if grant for pk in grant.collections or ()}
    readable = Collection.objects.visible_to(user).filter(pk__in=limits)
    names = dict(readable.values_list("pk", "name")) if limits else {}
    found = []
    for row, grant in held:
        limit = grant.collections if grant else None
        scopes = tuple(grant.scopes) if grant else ALL_SCOPES
        found.append(
            Shown(
                key=row.token_key,
                name=grant.name if grant else "",
                scopes=scopes,
                is_full=set(scopes) == set(ALL_SCOPES),
                collections=None
                if limit is None
                else tuple(sorted(names[pk] for pk in limit if pk in names)),
                created=row.created,
                expiry=row.expiry,
                last_used=grant.last_used if grant else None,
            )
        )
    return found
