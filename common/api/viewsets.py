"""The base of every view set: pages, filters as a serializer, declared permissions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

from rest_framework import mixins, serializers, status
from rest_framework.generics import get_object_or_404
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from common.api.access import ActionPermission
from common.api.serializers import Parameters
from common.api.views import StrictView

MAX_VALUES = 50


def repeatable(child: serializers.Field[Any, Any, Any, Any], about: str, **options: Any) -> Any:
    """A parameter that may be repeated."""
    options = {"required": False, "max_length": MAX_VALUES, "help_text": about, **options}
    return serializers.ListField(child=child, **options)


DEFAULT_PAGE_SIZE = 20
MAX_PAGE_SIZE = 100
# The offset must fit a bigint.
MAX_PAGE = 1_000_000


class PageParameters(Parameters):
    """The page of a list, counted from 1. A page beyond the last is empty."""

    page = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=1)
    page_size = serializers.IntegerField(
        min_value=1, max_value=MAX_PAGE_SIZE, default=DEFAULT_PAGE_SIZE
    )


class ListParameters(PageParameters):
    """The page of a list and its filters: a field's `source` is the lookup that it filters by.

    A method named filter_ and the field takes the place of the lookup.
    """

    needs_request = True

    @classmethod
    def add(
        cls, name: str, field: serializers.Field[Any, Any, Any, Any], method: Callable[..., Any]
    ) -> None:
        """Add the filter of an optional part."""
        cls._declared_fields[name] = field
        setattr(cls, f"filter_{name}", staticmethod(method))

    def filtered(self, rows: Any) -> Any:
        """The rows that fit the parameters."""
        for name, field in self.fields.items():
            value = self.validated_data.get(field.source)
            if value is not None and name not in ("page", "page_size"):
                method = getattr(self, f"filter_{name}", None)
                rows = method(rows, value) if method else rows.filter(**{str(field.source): value})
        return rows


class Pages(PageNumberPagination):
    """Pages with their number and the total. Two queries: the count and the page."""

    total = 0
    number = 1
    page_size = DEFAULT_PAGE_SIZE

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        parameters = view.parameters.validated_data
        self.number, self.page_size = parameters["page"], parameters["page_size"]
        self.total = queryset.count()
        first = (self.number - 1) * self.page_size
        return list(queryset[first : first + self.page_size])

    def get_paginated_response(self, data: Any) -> Response:
        return Response(
            {
                "total": self.total,
                "page": self.number,
                "pages": max(1, -(-self.total // self.page_size)),
                "page_size": self.page_size,
                "results": data,
            }
        )

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """None: they are those of the view's ListParameters."""
        return []

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        number = {"type": "integer", "minimum": 1}
        properties = {
            "total": {"type": "integer", "minimum": 0, "description": "Items on all pages."},
            "page": number,
            "pages": number,
            "page_size": number,
            "results": schema,
        }
        return {"type": "object", "required": list(properties), "properties": properties}


Row = TypeVar("Row", bound="Any")


class ApiViewSet(StrictView, GenericViewSet[Row]):
    """Rows of one kind. Permissions follow from `permission`, `open_to_read` and the model."""

    permission_classes = [ActionPermission]
    pagination_class: Any = Pages
    filter_backends = ()
    list_parameters: ClassVar[type[ListParameters]] = ListParameters
    permission: ClassVar[str | None] = None
    open_to_read: ClassVar[bool] = False
    error_statuses: tuple[int, ...] = ()
    """Error statuses for the schema, besides those of the method and the permission."""

    def get_queryset(self) -> Any:
        """The view's rows; if their model restricts readers, only those that the user may read."""
        rows: Any = super().get_queryset()
        return rows.visible_to(self.request.user) if hasattr(rows, "visible_to") else rows

    def get_object(self) -> Row:
        """The row of the URL, regardless of list filters."""
        key = self.kwargs[self.lookup_url_kwarg or self.lookup_field]
        row: Row = get_object_or_404(self.get_queryset(), **{self.lookup_field: key})
        return row

    def filter_queryset(self, queryset: Any) -> Any:
        return self.parameters.filtered(queryset)

    def respond_list(self, rows: Any) -> Response:
        """A page of `rows`, filtered by the query parameters."""
        page: Any = self.paginate_queryset(self.filter_queryset(rows))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def respond(
        self,
        row: Any,
        code: int = status.HTTP_200_OK,
        headers: dict[str, str] | None = None,
        **context: Any,
    ) -> Response:
        """The response with a row, rendered by the view's serializer with `context`."""
        serializer: Any = self.get_serializer(row)
        serializer.context.update(context)
        return Response(serializer.data, code, headers=headers)


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
        return self.respond(self.get_queryset().get(pk=form.row.pk), code, warnings=warnings)
