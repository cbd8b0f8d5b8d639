"""The apps of the authorization server: those that administrators enter, and those that introduce
themselves, of which a description (client-id metadata document) is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

from allauth.core import context
from allauth.core.internal import ratelimit
from allauth.idp.oidc.admin import ClientAdmin
from allauth.idp.oidc.internal import cimd
from allauth.idp.oidc.models import Client, Token
from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext
from unfold.admin import ModelAdmin

from common import UserError
from common.accounts.app_grants import is_on
from common.accounts.models import ALL_SCOPES, Scope
from common.admin.mixins import TextKeys
from ingestion.intake import import_web as web
from ingestion.intake.url_fetching import fetch
from ingestion.intake.url_guard import read_target

SCOPES = (*ALL_SCOPES, "openid")
GRANT_TYPES = ("authorization_code", "refresh_token")
# The draft says that servers should accept 5 kB.
MOST_BYTES, MOST_SECONDS = 8 * 1024, 5
MOST_ADDRESSES, LONGEST_ADDRESS = 20, 500
# Schemes of a redirect that a browser or an operating system would read, run or open itself. Not
# "without a dot", as RFC 8252 advises: `cursor://` and `vscode://` have none.
_REFUSED_SCHEMES = re.compile(
    r"(|about|blob|content|data|feed|file|filesystem|ftps?|git|help|intent|itms.*|jar|javascript"
    r"|ldaps?|magnet|mailto|market|mms|ms-.*|nfs|resource|sftp|shell|smb|sms(to)?|ssh|tel|telnet"
    r"|urn|vbscript|view-source|wais|webcals?|wss?|x-apple.*|(chrome|moz|edge|search)(-.*)?)"
)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OWN_PORT = re.compile(r"^(http://(?:127\.0\.0\.1|\[::1\]|localhost)):\d{1,5}(?=/|$)")


def find(client_id: str, redirect_uri: str) -> Client:
    """The app with this id; its description is fetched if the id is an address. Raises UserError.

    It comes back to an address that it has named, to the letter: what allauth takes for the same
    may lead a browser elsewhere (`https://elsewhere\\@app/`). On the person's own machine the port
    may be any (RFC 8252).
    """
    client = Client.objects.filter(pk=client_id).first()
    if cimd.is_cimd_url(client_id) and settings.OAUTH != "clients":
        client = _described(client_id, client)
    if client is None:
        raise UserError(
            gettext("This site does not know the app. Remove the connection there and add it anew.")
        )
    if _portless(redirect_uri) not in map(_portless, client.get_redirect_uris()):
        raise UserError(
            gettext("The app asks to come back to a redirect URI that it has not named.")
        )
    client.set_redirect_uris([redirect_uri])
    return client


def _portless(redirect_uri: str) -> str:
    """The address; without its port if it is on the person's own machine."""
    return _OWN_PORT.sub(r"\1", redirect_uri)


def restrict(client: Client) -> None:
    """Limit a self-registered app to reading and to codes. Raises ValidationError."""
    client.name = "".join(sign for sign in client.name if sign.isprintable())
    # Of the description of an unknown app only the used values are stored.
    client.data = {name: value for name, value in client.data.items() if name != "client_metadata"}
    _check_redirects(client.get_redirect_uris())
    client.set_scopes([Scope.READ.value, "openid"])
    client.set_default_scopes([Scope.READ.value])
    client.set_grant_types(list(GRANT_TYPES))
    client.set_response_types(["code"])


def _check_redirects(addresses: Sequence[str]) -> None:
    """Raise ValidationError for addresses that no app may come back to, for none and too many."""
    refused = [one for one in addresses if len(one) > LONGEST_ADDRESS or not _is_accepted(one)]
    if refused or not 0 < len(addresses) <= MOST_ADDRESSES:
        raise ValidationError(
            f"Name 1 to {MOST_ADDRESSES} redirect URIs of up to {LONGEST_ADDRESS} characters: "
            "https, an address of the own machine, or a scheme of the app. Not accepted: "
            f"{', '.join(refused)[:LONGEST_ADDRESS]!r}"
        )


def _is_accepted(redirect_uri: str) -> bool:
    try:
        parts = urlsplit(redirect_uri)
    except ValueError:
        return False
    # Browsers read a backslash as a slash: the host would be another one than the page names.
    if parts.fragment or {*redirect_uri} & {*"*\\"}:
        return False
    if _REFUSED_SCHEMES.fullmatch(parts.scheme):
        return False
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        return False
    has_host = bool(parts.hostname) or parts.scheme not in ("http", "https")
    return has_host and redirect_uri.isascii() and redirect_uri.isprintable()


def _described(client_id: str, known: Client | None) -> Client:
    """The app, from its description, which is fetched again after an hour. Raises UserError."""
    if known is not None and not cimd.is_outdated(known):
        return known
    try:
        parsed = cimd.validate_client_id(client_id)
        client: Client = cimd.validate_metadata(client_id, parsed, _fetched(client_id))
        restrict(client)
    except (ValidationError, UserError, ValueError, RecursionError) as error:
        if known is not None:
            return known
        reason = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        raise UserError(
            gettext("The app's description at %(address)s cannot be used: %(reason)s")
            % {"address": client_id, "reason": reason}
        ) from error
    if known is not None and (known.data or {}).get("used"):
        client.data["used"] = True
    client._state.adding = known is None
    client.save()
    return client


def _fetched(client_id: str) -> Any:
    """The JSON at the address. Raises UserError, and ValueError for other content."""
    limited = {"action": "cimd_fetch", "app": "allauth.idp.oidc", "limit_get": True}
    if not ratelimit.consume(context.request, **limited):
        raise UserError(gettext("too many apps are being connected. Try again in a minute."))
    policy = replace(web.policy(), seconds=MOST_SECONDS, size=MOST_BYTES, redirects=0)
    with fetch(read_target(client_id), policy) as answer:
        return json.load(answer.file)


admin.site.unregister((Client, Token))


class AppForm(forms.ModelForm):  # type: ignore[type-arg]
    """An app that an administrator enters: addresses and scopes that this site knows."""

    class Meta:
        model = Client
        fields = ("name", "type", "redirect_uris", "scopes")
        help_texts: ClassVar = {
            "type": "Confidential: a server that can keep a secret, which is shown once.",
            "redirect_uris": "The addresses that the app may come back to, one a line.",
            "scopes": f"What it may ask for, one a line: {', '.join(SCOPES)}.",
        }

    def clean_redirect_uris(self) -> str:
        addresses = str(self.cleaned_data["redirect_uris"]).split()
        _check_redirects(addresses)
        return "\n".join(addresses)

    def clean_scopes(self) -> str:
        scopes = str(self.cleaned_data["scopes"]).split()
        if unknown := [each for each in scopes if each not in SCOPES]:
            raise ValidationError(f"Unknown: {', '.join(unknown)}. Choose of {', '.join(SCOPES)}.")
        return "\n".join(scopes)


@admin.register(Client)
class AppAdmin(TextKeys, ClientAdmin, ModelAdmin):  # type: ignore[misc]
    """Apps. The secret of a confidential app is shown only once, when it becomes one."""

    empty_text = "No app was entered, and none has introduced itself, as far as OAUTH lets them."
    counted_as = ("app", "apps")
    form = AppForm
    list_display = ("name", "id", "type", "created_at")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        off = "The setting OAUTH is off: no app can ask people to let it in."
        shown = {"fields": self.form.Meta.fields, "description": "" if is_on() else off}
        return [(None, shown)]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"scopes": Scope.READ.value, "type": Client.Type.PUBLIC}

    def save_model(self, request: HttpRequest, obj: Client, form: Any, change: bool) -> None:
        obj.set_grant_types(list(GRANT_TYPES))
        obj.set_default_scopes([Scope.READ.value])
        is_new = not change or "type" in form.changed_data
        if is_new and obj.type == Client.Type.CONFIDENTIAL:
            super().save_model(request, obj, form, change=False)  # makes a secret and shows it
        else:
            super(ClientAdmin, self).save_model(request, obj, form, change)
