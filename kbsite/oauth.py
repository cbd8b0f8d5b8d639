"""OAuth 2.1 over the web: this site's configuration of allauth's OpenID provider.

    description of the resource -> of this server -> client -> consent page -> tokens

`common.accounts.app_grants` says what tokens are worth. Left out are the device flow, sign-out by
apps and user info: apps are let in to read, not to sign people in.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from allauth.core.internal.httpkit import add_query_params
from allauth.idp.oidc import views
from allauth.idp.oidc.adapter import DefaultOIDCAdapter
from allauth.idp.oidc.forms import AuthorizationForm
from allauth.idp.oidc.internal.oauthlib.utils import get_validator_context
from allauth.idp.oidc.internal.private_keys import filter_keys
from allauth.idp.oidc.models import Client, PrivateKey
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DataError, transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import URLPattern, include, path, reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common import UserError
from common.accounts import app_grants, second_factor, tokens
from common.accounts.models import Scope
from common.api.requests import actor
from common.api.throttles import seconds_to_wait
from ingestion.models import Collection
from kbsite import oauth_clients
from kbsite.settings.environment import signing_key

_SPENT = {"authorization_code": "code", "refresh_token": "refresh_token"}
# The errors of unreadable addresses, and of NUL, which Postgres refuses.
_MALFORMED = (ValueError, DataError)


class Adapter(DefaultOIDCAdapter):  # type: ignore[misc]
    """Scopes, keys, resources and clients of this site."""

    scope_display = {**DefaultOIDCAdapter.scope_display, **dict(Scope.choices)}

    def generate_client_secret(self) -> str:
        # Clients send it quoted (RFC 6749, section 2.3.1), which allauth does not undo.
        return secrets.token_urlsafe(48)

    def list_private_keys(self, **conditions: Any) -> list[PrivateKey]:
        return list(filter_keys([PrivateKey(pem=signing_key())], **conditions))

    def validate_resource_uris(self, *, uris: list[str], **_: Any) -> None:
        known = [self.get_issuer() + path for path in app_grants.RESOURCES]
        if unknown := [uri for uri in uris if uri.rstrip("/") not in known]:
            sentence = gettext("%(uri)s is no resource of this site. There are: %(known)s.")
            raise ValidationError(sentence % {"uri": unknown[0], "known": ", ".join(known)})

    def validate_client_registration(self, *, client: Client, **_: Any) -> None:
        oauth_clients.restrict(client)

    def populate_server_metadata(self, data: dict[str, Any]) -> None:
        for left_out in ("device_authorization", "end_session", "userinfo"):
            del data[f"{left_out}_endpoint"]
        data["scopes_supported"] = list(oauth_clients.SCOPES)
        data["grant_types_supported"] = list(_SPENT)
        data["response_types_supported"] = ["code"]
        data["authorization_response_iss_parameter_supported"] = True
        data["client_id_metadata_document_supported"] = settings.OAUTH != "clients"
        if settings.OAUTH == "registration":
            address = reverse("idp:oidc:client_registration")
            data["registration_endpoint"] = self.request.build_absolute_uri(address)


class ConsentForm(AuthorizationForm):  # type: ignore[misc]
    """What the person lets the app do, and where."""

    collections: Any = forms.ModelMultipleChoiceField(
        None, required=False, label=_("Only in these collections")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        readable = Collection.objects.visible_to(kwargs["user"]).order_by("name")
        super().__init__(*args, **kwargs)
        self.fields["collections"].queryset = readable


class ConsentView(views.AuthorizationView):  # type: ignore[misc]
    """The consent page: the signed-in person reads the app's request and accepts or refuses it."""

    form_class = ConsentForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().dispatch(request, *args, **kwargs)
        if response.status_code == 200 and not isinstance(response, TemplateResponse):
            response.status_code = 400  # allauth's page for a wrong request
        back = response.get("Location", "/")
        if not back.startswith("/"):  # back to the app, with the issuer (RFC 9207)
            issuer = views.get_adapter().get_issuer()
            described = _description(dict(parse_qsl(urlsplit(back).query)))
            response["Location"] = add_query_params(back, {"iss": issuer} | described)
        add_never_cache_headers(response)
        return response

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        query = request.GET
        try:
            if "none" in query.get("prompt", "").split():
                raise UserError(gettext("People let an app in on this page: prompt=none cannot."))
            if not query.get("code_challenge") or query.get("code_challenge_method") != "S256":
                raise UserError(gettext("The app must use PKCE with the method S256."))
            if request.user.is_authenticated:
                self._look_up(query.get("client_id", ""), query.get("redirect_uri", ""))
            response: HttpResponse = super().get(request, *args, **kwargs)
        except (UserError, *_MALFORMED) as error:
            malformed = gettext("The app's request is malformed.")
            sentence = str(error) if isinstance(error, UserError) else malformed
            context = {"error": {"description": sentence}}
            return render(request, "idp/oidc/error.html", context, status=400)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        data, back = form.cleaned_data, self._request_info["redirect_uri"]
        try:
            if second_factor.lacks_factor(self.request):
                raise UserError(second_factor.add_a_factor())
            client = self._look_up(self._request_info["client_id"], back)
            limit = [one.pk for one in data["collections"]] or None
            grant = app_grants.consent(actor(self.request), client, back, data["scopes"], limit)
        except UserError as error:
            form.add_error(None, str(error))
            return self.form_invalid(form)  # type: ignore[no-any-return]
        response: HttpResponse = super().form_valid(form)
        if codes := parse_qs(urlsplit(response.get("Location", "")).query).get("code"):
            app_grants.note_code(grant, client, codes[0])
        else:
            grant.delete()
        return response

    def _look_up(self, client_id: str, redirect_uri: str) -> Client:
        """The client, for allauth as well. Raises UserError."""
        client = oauth_clients.find(client_id, redirect_uri)
        client.skip_consent = False
        get_validator_context().clients[client_id] = client
        return client

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        info = self._request_info
        back = urlsplit(info["redirect_uri"])
        paths = {urlsplit(each).path.rstrip("/") for each in info["resources"]} or {""}
        return context | {
            "back": back.hostname or f"{back.scheme}:",
            "by_agents": paths & {"", "/mcp"},
            "by_api": paths - {"/mcp"},
            "days": tokens.default_days(),
            "is_introduced": (context["client"].data or {}).keys() & {"dcr", "cimd"},
        }


# What allauth does not say of an error, for whoever writes the app.
_WORDS = {
    "access_denied": "The person did not let the app in.",
    "invalid_client": "The app is unknown here, or its secret is wrong.",
    "invalid_grant": "The code, refresh token or code_verifier is wrong, used before or expired.",
    "invalid_request": "The request is malformed.",
    "invalid_scope": "The app, or the person's consent, has no such scope.",
    "invalid_target": "The person's consent is not for this resource.",
    "temporarily_unavailable": "Too many requests.",
    "unauthorized_client": "Apps get codes here: response_type=code.",
    "unsupported_grant_type": f"Send a form whose grant_type is one of: {', '.join(_SPENT)}.",
}


def _description(error: dict[str, str]) -> dict[str, str]:
    """The sentence that the error lacks, as a parameter; empty if it has one, or is none."""
    words = _WORDS.get(error.get("error", ""), "")
    return {"error_description": words} if words and "error_description" not in error else {}


def _refused(error: str, status: int = 400, **headers: str) -> JsonResponse:
    return JsonResponse({"error": error}, status=status, headers=headers)


class TokenView(views.TokenView):  # type: ignore[misc]
    """Issue tokens for a code or a refresh token, which can be used only once."""

    @transaction.atomic
    def post(self, request: HttpRequest) -> HttpResponse:
        name = _SPENT.get(request.POST.get("grant_type", ""))
        if name is None:
            return _refused("unsupported_grant_type")
        grant, spent = app_grants.lock(request.POST.get(name, ""))
        if grant is None or spent is None:
            return _refused("invalid_grant")
        if request.POST.get("client_id", spent.client_id) != spent.client_id:
            return _refused("invalid_grant")
        try:
            response: HttpResponse = super().post(request)
        except ValidationError:
            return _refused("invalid_target")
        if response.status_code == 200:
            app_grants.hand_on(grant, spent, json.loads(response.content))
        else:  # allauth has deleted the refresh token by the time that it refuses a resource
            transaction.set_rollback(True)
        return response


class RevokeView(views.RevokeView):  # type: ignore[misc]
    """Revoke a token, and with it the whole grant of the app."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        grant = app_grants.grant_of(request.POST.get("token", ""))
        response: HttpResponse = super().post(request, *args, **kwargs)
        if response.status_code == 200 and grant is not None:
            grant.delete()
        return response


def describe_resource(request: HttpRequest, resource: str = "") -> HttpResponse:
    """The description of the site, or of a part, as a protected resource (RFC 9728)."""
    if (address := f"/{resource}".rstrip("/")) not in app_grants.RESOURCES:
        raise Http404
    document = app_grants.metadata(request, address, [Scope.READ.value])
    return JsonResponse(document, headers={"Access-Control-Allow-Origin": "*"})


View = Callable[..., HttpResponse]


def _at(route: str, view: View, name: str = "", modes: tuple[str, ...] = ()) -> URLPattern:
    """The URL pattern of a view that exists if OAUTH is one of `modes`, by default any but off.

    Within the limits on requests: secrets of clients are costly to check.
    """

    @wraps(view)
    def switched(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not (settings.OAUTH in modes if modes else app_grants.is_on()):
            raise Http404
        response: HttpResponse
        if wait := seconds_to_wait(request, for_search=True):
            response = _refused("temporarily_unavailable", 429, **{"Retry-After": str(wait)})
        else:
            try:
                response = view(request, *args, **kwargs)
            except _MALFORMED:
                response = _refused("invalid_request")
        if response.status_code == 429:
            response.setdefault("Retry-After", "60")  # the shorter period of allauth's limits
        if response.status_code >= 400 and response["Content-Type"] == "application/json":
            body = json.loads(response.content)
            response.content = json.dumps(body | _description(body)).encode()
        return response

    return path(route, switched, name=name)


def _left_out(request: HttpRequest) -> HttpResponse:
    raise Http404


_WELL_KNOWN = ".well-known/"
_named = [
    _at(f"{_WELL_KNOWN}openid-configuration", views.configuration, "configuration"),
    _at(f"{_WELL_KNOWN}jwks.json", views.jwks, "jwks"),
    _at("oauth/authorize", ConsentView.as_view(), "authorization"),
    _at("oauth/token", TokenView.as_view(), "token"),
    _at("oauth/revoke", RevokeView.as_view(), "revoke"),
    _at("oauth/clients", views.client_registration, "client_registration", ("registration",)),
    # allauth asks for these names.
    *(path(f"oauth/{one}", _left_out, name=one) for one in ("userinfo", "device_code", "logout")),
]
patterns = [
    path("", include(([path("", include((_named, "oidc")))], "idp"))),
    _at(f"{_WELL_KNOWN}oauth-authorization-server", views.configuration),
    _at(app_grants.METADATA[1:], describe_resource),
    _at(f"{app_grants.METADATA[1:]}/<slug:resource>", describe_resource),
]
