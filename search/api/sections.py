"""The section around a passage over HTTP: what a program may show, or hand to a model."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.permissions import OPEN
from common.api.viewsets import ApiViewSet
from ingestion.models import Document
from search.presentation.sections import section_around


class SectionSerializer(serializers.Serializer[Any]):
    """The passages `first` to `last` of a document, the one asked for among them.

    `start` and `end` are character offsets into the document's extracted text. `is_whole` says
    that it ends where its heading's section does; otherwise there is more of it.
    """

    document = serializers.UUIDField(source="document.public_id", help_text="The document's id.")
    title = serializers.CharField(source="document.title")
    chunk = serializers.IntegerField(source="asked", help_text="The passage asked for, from 0.")
    heading_path = serializers.ListField(
        child=serializers.CharField(),
        source="section.path",
        help_text="The headings above all of it, outermost first.",
    )
    page = serializers.IntegerField(allow_null=True, help_text="Where it begins.")
    first = serializers.IntegerField(
        source="section.first", help_text="The ordinal of its first passage."
    )
    last = serializers.IntegerField(
        source="section.last", help_text="The ordinal of its last passage."
    )
    start = serializers.IntegerField(source="section.start")
    end = serializers.IntegerField(source="section.end")
    tokens = serializers.IntegerField(source="section.tokens", help_text="Of the embedding model.")
    is_whole = serializers.BooleanField(source="section.is_whole")
    text = serializers.CharField(help_text="Overlaps left out, edits by hand included.")


class SectionViewSet(ApiViewSet[Document]):
    """The section around one passage of a document."""

    serializer_class = SectionSerializer
    permission = OPEN
    lookup_url_kwarg = "chunk"
    lookup_value_converter = "int"
    queryset = Document.objects.none()

    def retrieve(self, request: Request, public_id: UUID, chunk: int) -> Response:
        """Show the section around a passage.

        Small passages are found; what surrounds them is read. The section is the run of neighbours
        under the same heading, or under the one above where that says too little, of at most
        `SECTION_TOKENS` tokens. A search result names its document and `chunk`.
        """
        documents = Document.objects.visible_to(request.user).select_related("current")
        documents = documents.defer("title_terms", "current__text")
        document = get_object_or_404(documents, public_id=public_id)
        around = section_around(document, chunk, viewer=request.user)
        if around is None:
            raise Http404
        names = ("asked", "section", "page", "text")
        shown = {name: getattr(around, name) for name in names}
        return Response(SectionSerializer({**shown, "document": document}).data)
