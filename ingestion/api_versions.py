"""A version of a document over HTTP: downloaded, made current again."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from django.http import FileResponse, Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion import services
from ingestion.api_requests import ActionPermission, actor, location
from ingestion.files.downloads import download
from ingestion.models import Document, DocumentVersion
from ingestion.serializers import VersionSerializer


class VersionViewSet(GenericViewSet[DocumentVersion]):
    """A version of a document, for users who may change that."""

    serializer_class = VersionSerializer
    permission_classes = [ActionPermission]
    permissions_needed: ClassVar[dict[str, str]] = {
        "original": "ingestion.change_document",
        "make_current": "ingestion.change_document",
    }
    queryset = DocumentVersion.objects.none()

    def get_queryset(self) -> QuerySet[DocumentVersion]:
        readable = Document.objects.visible_to(self.request.user)
        document = get_object_or_404(readable.only("pk"), public_id=self.kwargs["public_id"])
        return DocumentVersion.objects.filter(document=document).defer("text")

    def _version(self, number: int) -> DocumentVersion:
        return get_object_or_404(self.get_queryset(), number=number)

    @extend_schema(
        summary="Download a version's file",
        description="404 where it is no longer kept (VERSIONS_KEPT).",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def original(self, request: Request, public_id: str, number: int) -> FileResponse:
        return download(self._version(number))

    @extend_schema(
        summary="Make a version current again",
        description="Its file becomes the next version, which is read like an upload; search keeps "
        "the present one until then. 409 where it is the current one, its file is no longer kept, "
        "or another document of the collection holds the same file.",
        request=None,
        responses={202: OpenApiResponse(VersionSerializer, "The new version, queued.")},
    )
    def make_current(self, request: Request, public_id: str, number: int) -> Response:
        try:
            fresh = services.make_current(self._version(number), acting_user=actor(request))
        except Document.DoesNotExist as error:  # deleted since it was read above
            raise Http404 from error
        headers = location(request, "document", public_id)
        data = self.get_serializer(fresh).data
        return Response(data, status.HTTP_202_ACCEPTED, headers=headers)
