"""Who may call the API: tokens and their scopes, the permission of each action."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from django.conf import settings
from django.utils.translation import gettext
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from knox.auth import TokenAuthentication as KnoxAuthentication
from knox.models import AuthToken
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from common.accounts import app_grants, second_factor, tokens
from common.accounts.models import Scope, User


class MissingScope(PermissionDenied):
    """The token lacks the scope that the request needs, even if its user has the permission."""

    default_code = "missing_scope"

    def __init__(self, scope: str) -> None:
        super().__init__(
            gettext(
                "This token lacks the scope “%(scope)s”, which this request needs. Create a token "
                "with that scope on the page /me/tokens/."
            )
            % {"scope": scope}
        )
        # RFC 6750: an app may ask for the scope.
        self.auth_header = f'Bearer error="insufficient_scope", scope="{scope}"'


HOW_TO_SEND = "Send a token of this site in the header `Authorization: Bearer TOKEN`."


class TokenAuthentication(KnoxAuthentication):  # type: ignore[misc]
    """Tokens of this site (knox) and of its apps (OAuth), as `Bearer TOKEN` or `Token TOKEN`.

    Any other header is a 401: its sender would read less without notice. Scopes are checked here: a
    view may declare other permission classes, but none accepts tokens in another way.
    """

    def authenticate(self, request: Request) -> Any:
        """The token's user, limited to the token's collections, and the token.

        None without a header, and if a proxy's header comes with a session. Raises MissingScope.
        """
        value = token_of(get_authorization_header(request))
        if value is None:
            if self.takes_sessions and request._request.user.is_authenticated:
                return None
            raise AuthenticationFailed(HOW_TO_SEND)
        if not value:
            return None
        user, token = self.identify(value, request.build_absolute_uri(request.path))
        scopes = tokens.admit(user, token)
        view = request.parser_context.get("view")
        if (scope := needed_scope(view, str(request.method))) and scope not in scopes:
            raise MissingScope(scope)
        return user, token

    takes_sessions = True  # whether the view knows sessions as well

    def identify(self, value: bytes, url: str) -> tuple[User, AuthToken]:
        """The token's user and the token, for a request of `url`. Raises AuthenticationFailed."""
        if app_grants.is_on() and len(value) == app_grants.LENGTH:
            try:
                grant = app_grants.grant_for(value.decode("latin-1"), url)
            except tokens.InvalidToken as error:
                raise AuthenticationFailed(str(error)) from error
            return grant.user, grant
        # Knox decodes as UTF-8 and queries Postgres; both raise on such bytes.
        if not value.isalnum():
            raise AuthenticationFailed("The token is not valid. Ask for a new one.")
        result: tuple[User, AuthToken] = super().authenticate_credentials(value)
        return result

    def authenticate_header(self, request: Any) -> str:
        if request is None or not app_grants.is_on():
            return "Bearer"
        resource = "/v1" if request.path.startswith("/v1/") else "/api"
        return f'Bearer resource_metadata="{app_grants.metadata_url(request, resource)}"'


def token_of(header: bytes) -> bytes | None:
    """The token of an Authorization header; empty without one, None if it has another form."""
    scheme, *rest = header.split() or [b""]
    if not scheme:
        return b""
    return rest[0] if scheme.lower() in (b"bearer", b"token") and len(rest) == 1 else None


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The description of the header in the OpenAPI schema."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> Any:
        return build_bearer_security_scheme_object("Authorization", "Bearer")


def require_scope(request: Request, scope: str) -> None:
    """Raise MissingScope if the request's token lacks the scope; a session needs none."""
    if request.auth is not None and scope not in tokens.scopes_of(request.auth):
        raise MissingScope(scope)


Handler = TypeVar("Handler", bound=Callable[..., Any])

OPEN = ""
"""Instead of a permission: open to everyone, within `visible_to`."""
# As Django names a model's permissions.
_VERBS = {
    "list": "view",
    "retrieve": "view",
    "create": "add",
    "update": "change",
    "partial_update": "change",
    "destroy": "delete",
}


def requires(permission: str) -> Callable[[Handler], Handler]:
    """Declare the permission that one action of a view set needs."""

    def declare(handler: Handler) -> Handler:
        handler.permission = permission  # type: ignore[attr-defined]
        return handler

    return declare


def needed(view: Any) -> str | None:
    """The permission that the view's action needs; None if none is declared.

    The first of: the action's own (`requires`), the view's (`permission`), and the model's, as
    in the admin: view, add, change or delete. Reading is open if the view is `open_to_read`.
    """
    action = getattr(view, "action", "")
    own = getattr(getattr(view, action, None), "permission", None) if action else None
    declared = getattr(view, "permission", None) if own is None else own
    verb = _VERBS.get(action)
    if declared is not None or verb is None:
        return declared
    if verb == "view" and getattr(view, "open_to_read", False):
        return OPEN
    options = view.queryset.model._meta
    return f"{options.app_label}.{verb}_{options.model_name}"


ANY_SCOPE = ""
"""Instead of a scope: a token with any scope may."""


def needed_scope(view: Any, method: str) -> str:
    """The scope that a token needs for a method of the view's current action; any if empty.

    The first of: the action's own (`needs_scope`), the view's, the one that API_TOKEN_SCOPES
    names for the action's permission, and by method: reading, or else administering.
    """
    action = getattr(view, "action", ANY_SCOPE)
    if action is None:
        return ANY_SCOPE  # no action will run
    own = getattr(getattr(view, action, None), "needs_scope", None) if action else None
    declared = getattr(view, "needs_scope", None) if own is None else own
    if declared is not None:
        return str(declared)
    permission = needed(view) if action else None
    if permission == OPEN:
        return Scope.READ
    for pattern, scope in settings.API_TOKEN_SCOPES if permission else ():
        if fnmatchcase(str(permission), pattern):
            return str(scope)
    is_reading = permission is None and method in SAFE_METHODS
    return Scope.READ if is_reading else Scope.ADMINISTER


def require(request: Request, view: Any, permission: str) -> None:
    """Raise unless the user may do what needs another permission than the rest of the action."""
    lacks_factor = request.auth is None and second_factor.lacks_factor(request)
    if lacks_factor or not request.user.has_perm(permission):
        view.permission_denied(request, second_factor.add_a_factor() if lacks_factor else None)


class ActionPermission(BasePermission):
    """Permit users who have the permission that the action needs."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if getattr(view, "action", OPEN) is None:
            # No action will run: the answer is 405, unless the view has a handler for the method.
            return not hasattr(view, str(request.method).lower())
        if permission := needed(view):
            require(request, view, permission)
        return permission is not None
