"""Tokens in the header `Authorization: Token ...`, as django-rest-knox keeps them: hashed."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from knox.auth import TokenAuthentication as KnoxAuthentication
from rest_framework.exceptions import AuthenticationFailed


class TokenAuthentication(KnoxAuthentication):  # type: ignore[misc]
    """Knox's authentication; a header that cannot be a token is a 401 and never an error."""

    def authenticate_credentials(self, token: bytes) -> Any:
        # Knox decodes as UTF-8 and asks Postgres, which refuse such bytes by raising.
        if not token.isalnum():
            raise AuthenticationFailed("The token is not valid. Ask for a new one.")
        return super().authenticate_credentials(token)


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes the header."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> Any:
        return build_bearer_security_scheme_object(
            header_name="Authorization",
            token_prefix=self.target.authenticate_header(None),
        )
