"""The base of every view set: pages, filters and permissions by declaration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import mixins, status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from common.api.access import ActionPermission
from common.api.lists import Pages
from common.api.serializers import refuse_unknown

Row = TypeVar("Row", bound="Any")


class StrictFilters(DjangoFilterBackend):  # type: ignore[misc]
    """The view's FilterSet; a parameter that neither it nor the pages know is refused."""

    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        filterset = self.get_filterset_class(view, queryset)
        names = filterset.base_filters if filterset else ()
        refuse_unknown(request.query_params, (*names, *Pages.names))
        return super().filter_queryset(request, queryset, view)


class ApiViewSet(GenericViewSet[Row]):
    """Rows of one kind. Permissions follow from `permission`, `open_to_read` and the model."""

    permission_classes = [ActionPermission]
    pagination_class: Any = Pages
    filter_backends = [StrictFilters]
    permission: ClassVar[str | None] = None
    open_to_read: ClassVar[bool] = False
    filterset_class: Any = None
    error_statuses: tuple[int, ...] = ()
    """Error statuses for the schema, besides those of the method and the permission."""

    def get_object(self) -> Row:
        """The row of the URL, regardless of list filters."""
        key = self.kwargs[self.lookup_url_kwarg or self.lookup_field]
        row: Row = get_object_or_404(self.get_queryset(), **{self.lookup_field: key})
        return row

    def listed(self, rows: Any, serializer: type[Any] | None = None) -> Response:
        """A page of `rows`, filtered by the query parameters."""
        page: Any = self.paginate_queryset(self.filter_queryset(rows))
        make = serializer or self.get_serializer_class()
        context = self.get_serializer_context()
        return self.get_paginated_response(make(page, many=True, context=context).data)

    def shown(
        self,
        row: Any,
        code: int = status.HTTP_200_OK,
        headers: dict[str, str] | None = None,
        **context: Any,
    ) -> Response:
        """A row, rendered by the view's serializer with `context`."""
        shown: Any = self.get_serializer(row)
        shown.context.update(context)
        return Response(shown.data, code, headers=headers)


class ReadViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Row]):
    """A list in pages, and each of its rows."""


class EditableViewSet(ReadViewSet[Row]):
    """Rows that can be created, changed and deleted under the rules of a CleanSerializer.

    A subclass says how: `save` and `remove` call a service, which writes the audit.
    """

    def save(self, form: Any) -> Iterable[str]:
        """Save `form.row`; return warnings about it. Raises the services' errors."""
        raise NotImplementedError

    def remove(self, row: Row) -> None:
        """Delete the row."""
        raise NotImplementedError

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        form = self._checked(data=request.data)
        return self._saved(form, status.HTTP_201_CREATED)

    def partial_update(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        form = self._checked(self.get_object(), data=request.data, partial=True)
        return self._saved(form, status.HTTP_200_OK)

    def destroy(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        self.remove(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _checked(self, *args: Any, **kwargs: Any) -> Any:
        form = self.get_serializer(*args, **kwargs)
        form.is_valid(raise_exception=True)
        return form

    def _saved(self, form: Any, code: int) -> Response:
        warnings = list(self.save(form))
        return self.shown(self.get_queryset().get(pk=form.row.pk), code, warnings=warnings)
