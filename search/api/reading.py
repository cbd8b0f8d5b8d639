"""Lists over HTTP, and each of their rows, for those who may read them."""

from __future__ import annotations

from typing import Any, TypeVar

from rest_framework import mixins
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_requests import ActionPermission, asked
from ingestion.paging import PageParameters, Pages

Row = TypeVar("Row", bound="Any")


class ReadViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Row]):
    """A list in pages and each of its rows, for those who hold the permission of the action."""

    pagination_class = Pages
    permission_classes = (ActionPermission,)

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        asked(request, PageParameters)
        return super().list(request, *args, **kwargs)
