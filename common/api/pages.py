"""Pages of a list: by number, or by a cursor, which follows the rows while others write."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Q
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from common.accounts.encryption import decipher, encipher
from common.api.serializers import Parameters

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
    cursor = serializers.CharField(
        required=False,
        max_length=4000,
        help_text="In place of `page`; it stands in `next`. The page begins behind the last row "
        "of the page before, whatever was added or deleted since.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "cursor" in attrs and "page" in self.initial_data:
            raise ValidationError({"page": ["Give `page` or `cursor`."]})
        return attrs


class Pages(PageNumberPagination):
    """Pages with their number, the total and the next one. Two queries: the count and the page."""

    total = 0
    number = 1
    page_size = DEFAULT_PAGE_SIZE
    address = next_page = ""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        self.address = request.build_absolute_uri()
        parameters = view.parameters.validated_data
        self.number, self.page_size = parameters["page"], parameters["page_size"]
        order = stable_order(queryset)
        rows, first = queryset, (self.number - 1) * self.page_size
        if cursor := parameters.get("cursor"):
            self.number, rows = _behind(cursor, queryset, order)
            first = 0
        self.total = queryset.count()
        if order:
            rows = rows.order_by(*order)
        page = list(rows[first : first + self.page_size + 1])
        if len(page) > self.page_size:
            self.next_page = self._next(page[self.page_size - 1], order)
        return page[: self.page_size]

    def _next(self, last: Any, order: list[str]) -> str:
        """The address of the next page; by its number if no cursor fits the list."""
        if not order:
            return replace_query_param(self.address, "page", self.number + 1)
        values = [getattr(last, name.lstrip("-")) for name in order]
        cursor = encipher(json.dumps([order, self.number + 1, values], default=str))
        return replace_query_param(remove_query_param(self.address, "page"), "cursor", cursor)

    def get_paginated_response(self, data: Any) -> Response:
        link = f'<{self.next_page}>; rel="next"'
        return Response(
            {
                "total": self.total,
                "page": self.number,
                "pages": max(1, -(-self.total // self.page_size)),
                "page_size": self.page_size,
                "next": self.next_page or None,
                "results": data,
            },
            headers={"Link": link} if self.next_page else None,
        )

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """None: they are those of the view's ListParameters."""
        return []

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        number = {"type": "integer", "minimum": 1}
        about = "The address of the next page, with a cursor; null on the last page."
        properties = {
            "total": {"type": "integer", "minimum": 0, "description": "Items on all pages."},
            "page": number,
            "pages": number,
            "page_size": number,
            "next": {"type": "string", "format": "uri", "nullable": True, "description": about},
            "results": schema,
        }
        return {"type": "object", "required": list(properties), "properties": properties}


def stable_order(rows: Any) -> list[str]:
    """The columns that rows are sorted by, the last one their key; empty if a cursor cannot.

    A cursor compares columns of the rows' own table that are never null.
    """
    meta, names = rows.model._meta, [*(rows.query.order_by or rows.model._meta.ordering)]
    if rows.query.values_select:
        return []
    for name in names:
        try:
            column = meta.pk if name in ("pk", "-pk") else meta.get_field(str(name).lstrip("-"))
        except FieldDoesNotExist:
            return []
        if column.null or (column.is_relation and not column.primary_key):
            return []
    if not names or names[-1] not in ("pk", "-pk"):
        names.append("-pk" if names and names[0][0] == "-" else "pk")
    return names


def _behind(cursor: str, rows: Any, order: list[str]) -> tuple[int, Any]:
    """The number of the cursor's page, and the rows from its first on. Raises ValidationError."""
    was, number, values = json.loads(decipher(cursor) or "[null, 0, 0]")
    if not order or was != order:
        raise ValidationError({"cursor": ["This is no cursor of this list in this order."]})
    behind, same = Q(), Q()
    for name, value in zip(order, values, strict=True):
        column, lookup = name.lstrip("-"), "lt" if name[0] == "-" else "gt"
        behind |= same & Q((f"{column}__{lookup}", value))
        same &= Q((column, value))
    return number, rows.filter(behind)
