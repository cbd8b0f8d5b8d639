"""Tokens for programs: made from a password, listed, revoked. Only their hash is stored.

Their owners make and revoke them on the page `/me/tokens/` as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from knox.models import AuthToken
from rest_framework import mixins, serializers, status
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied, ValidationError
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from common.accounts import quotas, second_factor, tokens
from common.accounts.models import ALL_SCOPES, Scope, User
from common.api.access import ANY_SCOPE
from common.api.requests import Rank, actor, location, read_body
from common.api.serializers import ChoiceField, Strict
from common.api.throttles import AnonymousThrottle, LoginThrottle
from common.api.views import StrictView
from common.api.viewsets import ApiViewSet
from ingestion.models import Collection

OWN = "self"  # in place of a token's key, which has no such letters


class CredentialsSerializer(Strict, serializers.Serializer[Any]):
    """A user's name and password, and what the token may do."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)
    name = serializers.CharField(max_length=80, required=False, help_text="To tell it from others.")
    scopes = serializers.ListField(
        child=ChoiceField(choices=Scope.choices),
        required=False,
        max_length=len(ALL_SCOPES),
        help_text="What it may do, of what you may; all by default.",
    )
    collections = serializers.ListField(
        child=serializers.SlugField(max_length=120),
        required=False,
        max_length=100,
        help_text="The collections it is limited to, for tokens that read or upload; none: all.",
    )
    days = serializers.IntegerField(
        min_value=1,
        max_value=tokens.MOST_DAYS,
        required=False,
        help_text="When it expires; API_TOKEN_DAYS by default.",
    )


class TokenSerializer(serializers.Serializer[Any]):
    """A stored token: its first characters, which identify it, and what it may do."""

    key = serializers.CharField(help_text="How the token begins.")
    name = serializers.CharField()
    scopes = serializers.ListField(child=ChoiceField(choices=Scope.choices))
    collections = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="The slugs of the collections that it is limited to; null without a limit.",
    )
    created = serializers.DateTimeField()
    expiry = serializers.DateTimeField(allow_null=True)
    last_used = serializers.DateTimeField(
        allow_null=True, help_text="To the hour; null if it was not used yet or is not known."
    )


class NewTokenSerializer(TokenSerializer):
    """A new token. It is shown only once."""

    token = serializers.CharField()


def token_data(rows: Iterable[AuthToken], user: User) -> list[dict[str, Any]]:
    """Tokens as TokenSerializer shows them; one query for the collections they are limited to."""
    readable = Collection.objects.visible_to(user).filter(pk__in=tokens.limits_of(rows))
    return tokens.described(rows, dict(readable.values_list("pk", "slug")))


class TokenViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """Your own tokens. Tokens of other users are not accessible."""

    serializer_class = TokenSerializer
    rank = Rank.SEARCH
    is_repeatable = False  # the response would keep the secret
    lookup_field = "token_key"
    lookup_url_kwarg = "key"
    lookup_value_converter = "slug"
    queryset = AuthToken.objects.none()

    @property
    def needs_scope(self) -> str | None:
        """Any token may revoke itself."""
        return ANY_SCOPE if self.kwargs.get("key") == OWN else None

    def get_permissions(self) -> list[Any]:
        return [AllowAny() if self.action in {"create", None} else IsAuthenticated()]

    def get_authenticators(self) -> list[Any]:
        # Only the password counts: a session would require a CSRF token, an old token cause a 401.
        method = str(self.request.method).lower() if self.request is not None else ""
        makes_a_token = self.action_map.get(method) == "create"
        return [] if makes_a_token else super().get_authenticators()

    def get_authenticate_header(self, request: Request) -> str:
        return "Bearer"

    def get_throttles(self) -> list[Any]:
        if self.action == "create":
            return [LoginThrottle(), AnonymousThrottle()]
        return super().get_throttles()

    def get_queryset(self) -> QuerySet[Any]:
        return tokens.alive(actor(self.request))

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List your tokens."""
        page: Any = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        rows = TokenSerializer(token_data(page, actor(request)), many=True)
        return self.get_paginated_response(rows.data)

    @extend_schema(auth=[], request=CredentialsSerializer, responses={201: NewTokenSerializer})
    def create(self, request: Request) -> Response:
        """Create a token.

        The token is shown this once. Send it as `Authorization: Bearer ...`. Without `scopes` it
        may do all that you may.
        """
        values = dict(read_body(request, CredentialsSerializer).validated_data)
        credentials = {name: values.pop(name) for name in ("username", "password")}
        user: Any = authenticate(request._request, **credentials)
        if user is None:
            raise AuthenticationFailed("The user name or the password is wrong.")
        if second_factor.has_factor(user) or second_factor.must_have_factor(user):
            raise PermissionDenied(
                "This account signs in with a second factor: make tokens on the page /me/tokens/."
            )
        if "collections" in values:
            values["collections"] = _collections(values["collections"], user)
        row, token = tokens.make(user, **values)
        user_logged_in.send(sender=type(user), request=request._request, user=user)
        made = {**token_data([row], user)[0], "token": token}
        headers = location(request, "token-detail", row.token_key)
        return Response(NewTokenSerializer(made).data, status.HTTP_201_CREATED, headers=headers)

    def destroy(self, request: Request, key: str) -> Response:
        """Revoke one of your tokens.

        By how it begins. `self` is that of the request, which needs no scope; `all` are all.
        """
        user, answer = actor(request), Response(status=status.HTTP_204_NO_CONTENT)
        if key not in (OWN, "all"):
            if not tokens.revoke(user, key):
                raise Http404
            return answer
        if key == OWN and request.auth is None:
            raise ValidationError("This request came with a session, not with a token.")
        ended = request.auth if key == OWN else AuthToken.objects.filter(user=user.pk)
        ended.delete()
        user_logged_out.send(sender=type(user), request=request._request, user=user)
        return answer


class QuotaSerializer(serializers.Serializer[Any]):
    """Today's use of what is limited in a day."""

    name = serializers.CharField()
    used = serializers.IntegerField()
    limit = serializers.IntegerField()


class MeSerializer(serializers.Serializer[Any]):
    """Who asks, and what they may do."""

    username = serializers.CharField(allow_null=True, help_text="Null for a visitor.")
    token = TokenSerializer(allow_null=True, help_text="That of this request; null with a session.")
    permissions = serializers.ListField(
        child=serializers.CharField(), help_text="Of the user; the token's scopes take away."
    )
    quotas = QuotaSerializer(many=True)


class MeView(StrictView):
    """Who the request is of."""

    permission_classes = (AllowAny,)
    needs_scope = ANY_SCOPE

    @extend_schema(operation_id="me", responses=MeSerializer)
    def get(self, request: Request) -> Response:
        """Say who asks, with which rights and quotas."""
        user: Any = request.user
        data = {
            "username": user.get_username() or None,
            "token": token_data([request.auth], user)[0] if request.auth else None,
            "permissions": sorted(user.get_all_permissions()),
            "quotas": quotas.used_today(user) if user.is_authenticated else (),
        }
        return Response(MeSerializer(data).data)


def _collections(slugs: Iterable[str], user: User) -> list[int]:
    """The ids of the readable collections with these slugs. Raises ValidationError for others."""
    distinct = set(slugs)
    readable = dict(
        Collection.objects.visible_to(user).filter(slug__in=distinct).values_list("slug", "pk")
    )
    if missing := sorted(distinct - readable.keys()):
        raise ValidationError({"collections": [f"There is no collection {missing[0]!r}."]})
    return list(readable.values())
