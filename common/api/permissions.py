"""The permission that a request needs, as declared by the view; undeclared means denied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

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


class ActionPermission(BasePermission):
    """Permit users who have the permission that the action needs."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if getattr(view, "action", OPEN) is None:
            # No action will run: the answer is 405, unless the view has a handler for the method.
            return request.method == "OPTIONS" or not hasattr(view, str(request.method).lower())
        permission = needed(view)
        if not permission:
            return permission == OPEN
        return bool(request.user.is_authenticated and request.user.has_perm(permission))
