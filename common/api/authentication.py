"""Tokens in the header `Authorization: Token ...`, stored hashed by django-rest-knox."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from knox.auth import TokenAuthentication as KnoxAuthentication
from rest_framework.exceptions import AuthenticationFailed


class TokenAuthentication(KnoxAuthentication):  # type: ignore[misc]
    """Knox's authentication, but with a 401 for a header that cannot be a token."""

    def authenticate_credentials(self, token: bytes) -> Any:
        # Knox decodes as UTF-8 and queries Postgres; both raise on such bytes.
        if not token.isalnum():
            raise AuthenticationFailed("The token is not valid. Ask for a new one.")
        return super().authenticate_credentials(token)


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The description of the header in the OpenAPI schema."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> Any:
        return build_bearer_security_scheme_object(
            header_name="Authorization",
            token_prefix=self.target.authenticate_header(None),
        )
