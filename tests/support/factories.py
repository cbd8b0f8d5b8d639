"""Create collections and documents through the real upload path, without a worker or a broker."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction

from common.accounts.models import User
from ingestion import services
from ingestion.documents import activation, processing_steps, purging
from ingestion.domain import ParsedDocument
from ingestion.embedding.local import LocalEmbedder
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, Collection, Document, DocumentVersion, Purge, Visibility


def make_collection(
    name: str = "Handbook",
    *,
    visibility: str = Visibility.PUBLIC,
    groups: Sequence[str] = (),
    **fields: object,
) -> Collection:
    """Create a collection; `groups` are the names of groups that may read it."""
    collection = Collection.objects.create(name=name, visibility=visibility, **fields)
    for group in groups:
        collection.groups.add(Group.objects.get_or_create(name=group)[0])
    return collection


def upload(
    collection: Collection,
    content: str | bytes,
    *,
    file_name: str = "note.md",
    title: str = "",
    source: str = "",
    path: str = "",
    user: User | None = None,
) -> services.Receipt:
    """Upload a document and return its receipt; no worker processes it."""
    data = content.encode() if isinstance(content, str) else content
    return services.receive(
        collection,
        io.BytesIO(data),
        file_name=file_name,
        title=title,
        source=source,
        acting_user=user,
        path=path,
    )


_parse_file, _parsed, _run = processing_steps.parse_file, {}, LocalEmbedder._run


def _parse_once(path: Path, file_name: str, *limits: object, **options: Any) -> ParsedDocument:
    """What a child process made of the same bytes before, or makes of them: a fifth of the time of
    a document, of which tests have many alike. Files with others in them are read each time.
    """
    key = (path.read_bytes(), file_name, repr(limits), repr({**options, "parts_to": None}))
    document = _parsed.get(key) or _parse_file(path, file_name, *limits, **options)
    return document if document.parts else _parsed.setdefault(key, document)


def _run_once(embedder: LocalEmbedder, encoded: Any) -> Any:
    """What this model made of the same tokens before: three quarters of what tests embed."""
    seen = vars(embedder).setdefault("seen", {})
    if (key := repr(encoded)) not in seen:
        seen[key] = _run(embedder, encoded)
    return seen[key]


processing_steps.parse_file, LocalEmbedder._run = _parse_once, _run_once


def make_document(collection: Collection, content: str | bytes, **fields: str) -> Document:
    """Upload a document and process it fully: stored, parsed, chunked, embedded, searchable.

    A document that failed is returned as well: the caller asserts its state.
    """
    receipt = upload(collection, content, **fields)  # type: ignore[arg-type]
    processing_steps.advance(receipt.version.pk)
    bm25_weights.fold()
    return Document.objects.select_related("current", "latest", "collection").get(
        pk=receipt.document.pk
    )


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


def empty_bin() -> None:
    """Purge what has expired, as beat and a worker do."""
    services.purge_bin()
    for pk in Purge.objects.values_list("pk", flat=True):
        purging.advance(pk)
