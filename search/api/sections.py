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
from search.presentation.sections import Around, section_around


class SectionSerializer(serializers.Serializer[Any]):
    """The passages `first` to `last` of a document, the one asked for among them.

    `start` and `end` are character offsets into the document's extracted text. `is_whole` says
    that it ends where its heading's section does; otherwise there is more of it.
    """

    document = serializers.UUIDField(help_text="The document's id.")
    title = serializers.CharField()
    chunk = serializers.IntegerField(help_text="The passage asked for, from 0.")
    heading_path = serializers.ListField(
        child=serializers.CharField(), help_text="The headings above all of it, outermost first."
    )
    page = serializers.IntegerField(allow_null=True, help_text="Where it begins.")
    first = serializers.IntegerField(help_text="The ordinal of its first passage.")
    last = serializers.IntegerField(help_text="The ordinal of its last passage.")
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    tokens = serializers.IntegerField(help_text="Of the embedding model.")
    is_whole = serializers.BooleanField()
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
        return Response(SectionSerializer(_data(document, around)).data)


def _data(document: Document, around: Around) -> dict[str, Any]:
    section = around.section
    return {
        "document": document.public_id,
        "title": document.title,
        "chunk": around.asked,
        "heading_path": section.path,
        "page": around.page,
        "first": section.first,
        "last": section.last,
        "start": section.start,
        "end": section.end,
        "tokens": section.tokens,
        "is_whole": section.is_whole,
        "text": around.text,
    }
