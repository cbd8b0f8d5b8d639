"""Response headers of fetched addresses, kept for conditional requests of later imports.

An unchanged address then costs its server only a short response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingestion.intake.fetching import Fetched, Known
from ingestion.models import Document, DocumentVersion, Import, ImportItem, SourceKind

FETCHED = "fetched"
"""The key in an item's metadata of the response fetched for it."""
# The response headers that later imports need.
_KEPT_HEADERS = ("etag", "last-modified", "content-type", "x-robots-tag")


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The stored response of an earlier import."""

    stored: str
    file_name: str
    headers: Mapping[str, str]

    @property
    def known(self) -> Known:
        return Known(self.headers.get("etag", ""), self.headers.get("last-modified", ""))


def stored_response(of: Import, url: str) -> StoredResponse | None:
    """The stored response from `url`, if the newest version still has those bytes."""
    document = (
        Document.objects.kept()
        .filter(collection=of.collection_id, source=url, source_kind=SourceKind.URL)
        .first()
    )
    if document is None or document.latest_id is None:
        return None
    latest = DocumentVersion.objects.only("sha256", "file", "file_name").get(pk=document.latest_id)
    fetched = ImportItem.objects.filter(document=document, reference=url)
    for metadata in fetched.order_by("-pk").values_list("metadata", flat=True)[:5]:
        answer = metadata.get(FETCHED, {})
        if answer.get("sha256") == latest.sha256:
            return StoredResponse(str(latest.file.name), latest.file_name, answer["headers"])
    return None


def remember(item: ImportItem, answer: Fetched) -> None:
    """Save the response headers on the item for the next import of its address."""
    headers = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
    clean = {name: value.replace("\x00", "")[:500] for name, value in headers.items()}
    fetched = {"sha256": answer.sha256, "url": answer.url, "headers": clean}
    item.metadata = {**item.metadata, FETCHED: fetched}
    item.save(update_fields=["metadata"])
