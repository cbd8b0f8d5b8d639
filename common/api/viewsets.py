"""The base of every view set: filters as a serializer, declared permissions, ETags."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import Any, ClassVar, TypeVar

from django.db import models, transaction
from django.http import Http404
from django.utils.cache import get_conditional_response
from django.utils.http import parse_etags
from rest_framework import mixins, serializers, status
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from common.api.access import ActionPermission
from common.api.errors import PreconditionFailed
from common.api.pages import PageParameters, Pages
from common.api.requests import checked, location
from common.api.serializers import ChoiceField
from common.api.views import StrictView

MAX_VALUES = 50


def repeatable(child: serializers.Field[Any, Any, Any, Any], about: str, **options: Any) -> Any:
    """A parameter that may be repeated."""
    # A program whose list of collections is empty would search all of them.
    bounds = {"required": False, "min_length": 1, "max_length": MAX_VALUES}
    options = {**bounds, "help_text": about, **options}
    return serializers.ListField(child=child, **options)


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
            if value is not None and name not in PageParameters._declared_fields:
                method = getattr(self, f"filter_{name}", None)
                rows = method(rows, value) if method else rows.filter(**{str(field.source): value})
        return rows

    def filter_ordering(self, rows: Any, value: str) -> Any:
        """The rows, sorted; rows of one value have an order, too."""
        return rows.order_by(value, "-pk" if value[0] == "-" else "pk")


# Columns that lists of most kinds of rows have.
_SORTED = ("created", "updated", "at", "title", "name")
_SINCE = {"created": "created_after", "at": "created_after", "updated": "updated_after"}


@cache
def _of_columns(form: type[ListParameters], model: type[models.Model]) -> type[ListParameters]:
    """The parameters of a list with those that follow from the columns of its model."""
    columns = {field.name for field in model._meta.concrete_fields}
    names = [name for name in _SORTED if name in columns]
    choices = [sign + name for name in names for sign in ("", "-")]
    about = "The column to sort by; with a hyphen, the largest or latest first."
    fields: dict[str, Any] = {
        _SINCE[name]: serializers.DateTimeField(
            source=f"{name}__gte", required=False, help_text="Only rows of this time or later."
        )
        for name in names
        if name in _SINCE
    }
    if names:
        fields["ordering"] = ChoiceField(choices, required=False, help_text=about)
    return type(form.__name__, (form,), {"__doc__": form.__doc__, **fields})


Row = TypeVar("Row", bound="Any")


def _hashed(data: Any) -> str:
    """The ETag of a response's data."""
    return f'"{sha256(JSONRenderer().render(data)).hexdigest()[:32]}"'


class ApiViewSet(StrictView, GenericViewSet[Row]):
    """Rows of one kind. Permissions follow from `permission`, `open_to_read` and the model."""

    permission_classes = [ActionPermission]
    pagination_class: Any = Pages
    filter_backends = ()
    lookup_value_converter = "int"  # of most rows' ids
    list_parameters: ClassVar[type[ListParameters]] = ListParameters
    permission: ClassVar[str | None] = None
    open_to_read: ClassVar[bool] = False
    error_statuses: tuple[int, ...] = ()
    """Error statuses for the schema, besides those of the method and the permission."""

    @classmethod
    def list_form(cls) -> type[ListParameters]:
        """The form of the list's parameters."""
        model: Any = getattr(cls.queryset, "model", None)
        return _of_columns(cls.list_parameters, model)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        if "If-Match" not in request.headers or request.method in SAFE_METHODS:
            return super().dispatch(request, *args, **kwargs)
        with transaction.atomic():  # which holds the lock on the row that was compared
            return super().dispatch(request, *args, **kwargs)

    def obeyed_guards(self, method: str) -> set[str]:
        has_tag = self.detail and isinstance(self, mixins.RetrieveModelMixin)
        return super().obeyed_guards(method) | ({"If-Match"} if has_tag else set())

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method not in SAFE_METHODS and "If-Match" in request.headers:
            rows = type(self.get_object())._base_manager.select_for_update()
            get_object_or_404(rows, pk=self.get_object().pk)
            # A proxy that compresses makes the tag a weak one.
            tags = {each.removeprefix("W/") for each in parse_etags(request.headers["If-Match"])}
            if not tags & {"*", self._tag()}:
                raise PreconditionFailed

    def _tag(self) -> str:
        """The ETag of the row of the address: that of what `retrieve` shows."""
        row, action = self.get_object(), self.action
        self.action = "retrieve"
        data = self.get_serializer(row).data
        self.action = action
        return _hashed(data)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if response.status_code != status.HTTP_200_OK:
            return response
        if self.action == "retrieve":
            response["ETag"] = tag = _hashed(response.data)
            return get_conditional_response(request._request, etag=tag, response=response)
        if self.action in ("update", "partial_update") and "If-Match" in request.headers:
            with suppress(Http404):  # it may have another address now
                response["ETag"] = self._tag()
        return response

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
        """The response with a row, rendered by the view's serializer with `context`.

        The header Location is that of what was made, or of what the request waits for.
        """
        serializer: Any = self.get_serializer(row)
        serializer.context.update(context)
        if code != status.HTTP_200_OK and headers is None:
            lookup = self.lookup_url_kwarg or self.lookup_field
            above = [value for name, value in self.kwargs.items() if name != lookup]
            headers = location(self.request, f"{self.basename}-detail", *above, self.key_of(row))
        return Response(serializer.data, code, headers=headers)

    def key_of(self, row: Row) -> object:
        """What names the row in its address."""
        return getattr(row, self.lookup_field)


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
        return checked(self.request, self.get_serializer(*args, **kwargs))

    def _saved(self, form: Any, code: int) -> Response:
        warnings = list(self.save(form))
        return self.respond(self.get_queryset().get(pk=form.row.pk), code, warnings=warnings)
