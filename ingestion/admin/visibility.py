"""What every page about the library may show: what its reader may read, and no trace of more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from django.contrib.admin.utils import model_ngettext
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest

Summary = tuple[list[Any], dict[str, int], set[str], list[Any]]


class VisibleOnly:
    """For a ModelAdmin whose manager knows `visible_to`: lists, pages, history, autocomplete."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset = super().get_queryset(request)  # type: ignore[misc]
        return queryset.visible_to(request.user)  # type: ignore[no-any-return]


def actor(request: HttpRequest) -> User:
    """Who acts: the admin lets nobody in who is not signed in."""
    return cast("User", request.user)


class AuditedByServices:
    """For a ModelAdmin whose changes go through services, which write the audit row themselves."""

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> None:
        return None

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> None:
        return None

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        return None


def deletion_summary(
    objects: Sequence[Model], counts: Iterable[tuple[type[Model], int]], lacking: set[str]
) -> Summary:
    """What a confirmation page shows: the objects themselves, and how many rows go with them.

    Django's own collector would load every chunk and every embedding to list them.
    """
    totals = {str(model_ngettext(model._meta, 2)): count for model, count in counts if count}
    return [str(one) for one in objects], totals, lacking, []
