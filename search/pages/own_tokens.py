"""The page of a reader's API tokens."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from common.accounts import app_grants, second_factor, tokens
from common.accounts.models import Scope, User
from common.api.requests import actor
from ingestion.models import Collection

EXPIRIES = (7, 30, 90, 365)


class TokenForm(forms.Form):
    """The form of a new token."""

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


@sensitive_variables("token")
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own_tokens(request: HttpRequest) -> HttpResponse:
    """The reader's tokens; a posted form makes a token, which only this response displays."""
    user = actor(request)
    posted = request.method == "POST"
    form = TokenForm(request.POST if posted else None, user=user)
    token = ""
    if posted and second_factor.lacks_factor(request):
        form.add_error(None, second_factor.add_a_factor())
    if posted and form.is_valid():
        data = form.cleaned_data
        limit = [collection.pk for collection in data["collections"]]
        try:
            _row, token = tokens.make(user, **{**data, "collections": limit or None})
            form = TokenForm(user=user)
        except tokens.InvalidToken as error:
            form.add_error(None, str(error))
    rows = tokens.alive(user)
    readable = Collection.objects.visible_to(user).filter(pk__in=tokens.limits_of(rows))
    items = tokens.described(rows, dict(readable.values_list("pk", "name")))
    context = {"form": form, "token": token, "tokens": items, "apps": app_grants.connected(user)}
    return render(request, "search/me/tokens.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def revoke_token(request: HttpRequest, key: str) -> HttpResponse:
    """Revoke one of the reader's tokens."""
    tokens.revoke(actor(request), key)
    return redirect("search:tokens")
