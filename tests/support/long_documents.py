"""Documents with thousands of passages, made without a model."""

from __future__ import annotations

from django.db import transaction

from ingestion.documents import activation
from ingestion.models import Chunk, Collection, Document, DocumentVersion
from tests.support.factories import make_document


def make_long_document(collection: Collection, text: str, passages: int) -> Document:
    """A searchable document whose one passage is repeated so often; the copies have no vectors."""
    document = make_document(collection, text, file_name="long.md")
    first = Chunk.objects.get(document=document)
    with transaction.atomic():
        activation.hide(document)
        copies = [_copy(first, ordinal) for ordinal in range(1, passages)]
        Chunk.objects.bulk_create(copies, batch_size=500)
        DocumentVersion.objects.filter(pk=document.current_id).update(chunk_count=passages)
        activation.show(document)
    return document


def _copy(chunk: Chunk, ordinal: int) -> Chunk:
    values = {field.attname: getattr(chunk, field.attname) for field in Chunk._meta.concrete_fields}
    return Chunk(**values | {"id": None, "ordinal": ordinal, "searchable": False})
