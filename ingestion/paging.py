"""Numbered pages of a list, for every list of the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

DEFAULT_PAGE_SIZE = 20
MAX_PAGE_SIZE = 100
# An offset has to fit a bigint; nobody turns a millionth page.
MAX_PAGE = 1_000_000


class Parameters(serializers.Serializer[Any]):
    """The parameters of an address. One that is not known is refused, not ignored.

    A misspelled filter that is ignored answers another question than the one asked.
    """

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields) - {"format"})
        if unknown:
            known = ", ".join(self.fields)
            raise serializers.ValidationError(
                {name: [f"There is no such parameter. Known are: {known}."] for name in unknown}
            )
        return super().to_internal_value(data)


class PageParameters(Parameters):
    """Which page of a list, counted from 1. A page beyond the last is empty."""

    page = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=1)
    page_size = serializers.IntegerField(
        min_value=1, max_value=MAX_PAGE_SIZE, default=DEFAULT_PAGE_SIZE
    )


class Pages(BasePagination):
    """Pages with their number and the total; the page is read by PageParameters.

    Two queries: the count and the page.
    """

    total = 0
    page = 1
    page_size = DEFAULT_PAGE_SIZE

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        names = ("page", "page_size")
        given = {name: request.query_params[name] for name in names if name in request.query_params}
        parameters = PageParameters(data=given)
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
