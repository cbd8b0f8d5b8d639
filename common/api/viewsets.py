"""The base of every view set: pages, filters and permissions by declaration."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import mixins, status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from common.api.pagination import Pages
from common.api.permissions import ActionPermission
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
    """Rows of one kind. Who may do what is read off `permission`, `open_to_read` and the model."""

    permission_classes = [ActionPermission]
    pagination_class = Pages
    filter_backends = [StrictFilters]
    permission: ClassVar[str | None] = None
    open_to_read: ClassVar[bool] = False
    filterset_class: ClassVar[Any] = None
    error_statuses: ClassVar[tuple[int, ...]] = ()
    """Errors for the schema, besides those that follow from the method and the permission."""

    def get_object(self) -> Row:
        """The row that the address names; the parameters of lists do not narrow it."""
        key = self.kwargs[self.lookup_url_kwarg or self.lookup_field]
        row: Row = get_object_or_404(self.get_queryset(), **{self.lookup_field: key})
        return row

    def listed(self, rows: Any, serializer: type[Any] | None = None) -> Response:
        """One page of `rows`, filtered as the address asks."""
        page: Any = self.paginate_queryset(self.filter_queryset(rows))
        make = serializer or self.get_serializer_class()
        context = self.get_serializer_context()
        return self.get_paginated_response(make(page, many=True, context=context).data)

    def shown(
        self, row: Any, code: int = status.HTTP_200_OK, headers: dict[str, str] | None = None
    ) -> Response:
        """One row under the view's own serializer."""
        return Response(self.get_serializer(row).data, code, headers=headers)


class ReadViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Row]):
    """A list in pages, and each of its rows."""
