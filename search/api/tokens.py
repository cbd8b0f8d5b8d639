"""Tokens for programs: made from a password, listed, revoked. Only their hash is stored."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from knox.models import AuthToken
from rest_framework import serializers, status
from rest_framework.exceptions import AuthenticationFailed, ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_requests import asked, posted
from ingestion.paging import PageParameters, Pages
from search.api.throttling import AnonymousThrottle, LoginThrottle


class CredentialsSerializer(serializers.Serializer[Any]):
    """A user's name and password."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)


class TokenSerializer(serializers.Serializer[Any]):
    """A token as it is kept: its beginning, by which it is named, and its time."""

    key = serializers.CharField(source="token_key", help_text="How the token begins.")
    created = serializers.DateTimeField()
    expiry = serializers.DateTimeField(allow_null=True)


class NewTokenSerializer(TokenSerializer):
    """A token as it is shown once, when it is made."""

    token = serializers.CharField()


class TokenViewSet(GenericViewSet[Any]):
    """Your own tokens. Nobody sees or ends those of others here."""

    serializer_class = TokenSerializer
    pagination_class = Pages
    queryset = AuthToken.objects.none()

    def get_permissions(self) -> list[Any]:
        return [AllowAny() if self.action in {"create", None} else IsAuthenticated()]

    def get_authenticators(self) -> list[Any]:
        # The password alone counts: a session would bring its CSRF check, an old token a 401.
        if self.request is not None and self.request.method == "POST" and self._makes_a_token():
            return []
        return super().get_authenticators()

    def _makes_a_token(self) -> bool:
        return bool(self.action_map.get("post") == "create")

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

    @extend_schema(
        operation_id="token_create",
        summary="Make a token",
        description="The token is shown this once. Send it as `Authorization: Token ...`.",
        auth=[],
        request=CredentialsSerializer,
        responses={201: NewTokenSerializer},
    )
    def create(self, request: Request) -> Response:
        form = posted(request, CredentialsSerializer)
        user = authenticate(request._request, **form.validated_data)
        if user is None:
            raise AuthenticationFailed("The user name or the password is wrong.")
        kept, token = AuthToken.objects.create(user=user)
        user_logged_in.send(sender=type(user), request=request._request, user=user)
        kept.token = token
        return Response(NewTokenSerializer(kept).data, status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="token_list", summary="List your tokens", parameters=[PageParameters]
    )
    def list(self, request: Request) -> Response:
        asked(request, PageParameters)
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(TokenSerializer(page, many=True).data)

    @extend_schema(
        operation_id="token_revoke", summary="Revoke one of your tokens", responses={204: None}
    )
    def destroy(self, request: Request, key: str) -> Response:
        get_object_or_404(self.get_queryset(), token_key=key).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="token_logout",
        summary="Revoke the token of this request",
        request=None,
        responses={204: OpenApiResponse(description="The token no longer works.")},
    )
    def logout(self, request: Request) -> Response:
        if request.auth is None:
            raise ValidationError("This request came with a session, not with a token.")
        request.auth.delete()
        user_logged_out.send(sender=type(request.user), request=request._request, user=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="token_logout_all",
        summary="Revoke all your tokens",
        request=None,
        responses={204: OpenApiResponse(description="None of your tokens works any longer.")},
    )
    def logout_all(self, request: Request) -> Response:
        AuthToken.objects.filter(user=request.user.pk).delete()
        user_logged_out.send(sender=type(request.user), request=request._request, user=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)
