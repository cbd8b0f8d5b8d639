"""Tokens for programs: made from a password, listed, revoked. Only their hash is stored."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from knox.models import AuthToken
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import AuthenticationFailed, ValidationError
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from common.api.access import AnonymousThrottle, LoginThrottle
from common.api.requests import read_body
from common.api.serializers import Strict
from common.api.viewsets import ApiViewSet


class CredentialsSerializer(Strict, serializers.Serializer[Any]):
    """A user's name and password."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)


class TokenSerializer(serializers.Serializer[Any]):
    """A stored token: its first characters, which identify it, and its time of creation."""

    key = serializers.CharField(source="token_key", help_text="How the token begins.")
    created = serializers.DateTimeField()
    expiry = serializers.DateTimeField(allow_null=True)


class NewTokenSerializer(TokenSerializer):
    """A new token. It is shown only once."""

    token = serializers.CharField()


class TokenViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """Your own tokens. Tokens of other users are not accessible."""

    serializer_class = TokenSerializer
    lookup_field = "token_key"
    lookup_url_kwarg = "key"
    lookup_value_converter = "slug"
    queryset = AuthToken.objects.none()

    def get_permissions(self) -> list[Any]:
        return [AllowAny() if self.action in {"create", None} else IsAuthenticated()]

    def get_authenticators(self) -> list[Any]:
        # Only the password counts: a session would require a CSRF token, an old token cause a 401.
        makes_a_token = self.request is not None and self.request.method == "POST"
        return [] if makes_a_token else super().get_authenticators()

    def get_authenticate_header(self, request: Request) -> str:
        return "Token"

    def get_throttles(self) -> list[Any]:
        if self.action == "create":
            return [LoginThrottle(), AnonymousThrottle()]
        return super().get_throttles()

    def get_queryset(self) -> QuerySet[Any]:
        alive = Q(expiry__isnull=True) | Q(expiry__gt=timezone.now())
        tokens: QuerySet[Any] = AuthToken.objects.filter(alive, user=self.request.user.pk)
        return tokens.order_by("-created", "digest")

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List your tokens."""
        return super().list(request, *args, **kwargs)

    @extend_schema(auth=[], request=CredentialsSerializer, responses={201: NewTokenSerializer})
    def create(self, request: Request) -> Response:
        """Create a token.

        The token is shown this once. Send it as `Authorization: Token ...`.
        """
        form = read_body(request, CredentialsSerializer)
        user = authenticate(request._request, **form.validated_data)
        if user is None:
            raise AuthenticationFailed("The user name or the password is wrong.")
        kept, token = AuthToken.objects.create(user=user)
        user_logged_in.send(sender=type(user), request=request._request, user=user)
        kept.token = token
        return Response(NewTokenSerializer(kept).data, status.HTTP_201_CREATED)

    def destroy(self, request: Request, key: str) -> Response:
        """Revoke one of your tokens."""
        self.get_object().delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class LogoutViewSet(ViewSet):
    """Revoke one token, or all."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(responses={204: OpenApiResponse(description="The token no longer works.")})
    @action(detail=False, methods=["post"])
    def logout(self, request: Request) -> Response:
        """Revoke the token of this request."""
        if request.auth is None:
            raise ValidationError("This request came with a session, not with a token.")
        request.auth.delete()
        return _logged_out(request)

    @extend_schema(
        responses={204: OpenApiResponse(description="None of your tokens works any longer.")}
    )
    @action(detail=False, methods=["post"], url_path="logoutall")
    def logout_all(self, request: Request) -> Response:
        """Revoke all your tokens."""
        AuthToken.objects.filter(user=request.user.pk).delete()
        return _logged_out(request)


def _logged_out(request: Request) -> Response:
    user_logged_out.send(sender=type(request.user), request=request._request, user=request.user)
    return Response(status=status.HTTP_204_NO_CONTENT)
