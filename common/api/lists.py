"""Lists of the API: filters with repeatable parameters, and pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxLengthValidator, ProhibitNullCharactersValidator
from django_filters import filters
from django_filters.rest_framework import FilterSet
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.serializers import Parameters

__all__ = ["ChoicesFilter", "FilterSet", "ValuesFilter"]

MAX_VALUES = 50


class _ValuesField(forms.MultipleChoiceField):
    """A field for arbitrary values instead of choices."""

    def validate(self, value: Any) -> None:
        MaxLengthValidator(MAX_VALUES)(value)
        for each in value:
            ProhibitNullCharactersValidator()(each)


class _ChoicesField(forms.MultipleChoiceField):
    """A field whose error message lists the valid choices."""

    def validate(self, value: Any) -> None:
        choices: Any = self.choices
        keys = [str(key) for key, _ in choices]
        for each in value:
            if each not in keys:
                # As parameters: a value may hold a % that formatting would read.
                raise forms.ValidationError(
                    "“%(value)s” is not a valid choice. Use one of: %(known)s.",
                    params={"value": each, "known": ", ".join(keys)},
                )


class ValuesFilter(filters.MultipleChoiceFilter):  # type: ignore[misc]
    """Filter rows by any of the values; the parameter may be repeated."""

    field_class: type[forms.MultipleChoiceField] = _ValuesField

    def is_noop(self, qs: Any, value: Any) -> bool:
        return not value


class ChoicesFilter(ValuesFilter):
    """Filter rows by any of the choices; the parameter may be repeated."""

    field_class = _ChoicesField


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


class Pages(BasePagination):
    """Pages with their number and the total. Two queries: the count and the page."""

    names = ("page", "page_size")
    total = 0
    page = 1
    page_size = DEFAULT_PAGE_SIZE

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        query = request.query_params
        values = {name: query[name] for name in self.names if name in query}
        parameters = PageParameters(data=values)
        parameters.is_valid(raise_exception=True)
        self.page = parameters.validated_data["page"]
        self.page_size = parameters.validated_data["page_size"]
        self.total = queryset.count()
        first = (self.page - 1) * self.page_size
        return list(queryset[first : first + self.page_size])

    def get_paginated_response(self, data: Any) -> Response:
        return Response(
            {
                "total": self.total,
                "page": self.page,
                "pages": max(1, -(-self.total // self.page_size)),
                "page_size": self.page_size,
                "results": data,
            }
        )

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        sizes = {"page": (1, MAX_PAGE), "page_size": (DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)}
        return [
            {
                "name": name,
                "in": "query",
                "required": False,
                "schema": {"type": "integer", "minimum": 1, "maximum": most, "default": default},
            }
            for name, (default, most) in sizes.items()
        ]

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
