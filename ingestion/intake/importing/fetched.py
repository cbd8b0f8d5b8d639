"""What an import fetched from an address, kept on its item: what the next one asks with.

So the same address costs its server one short answer where nothing has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingestion.intake.fetching import Fetched, Known
from ingestion.models import Document, DocumentVersion, Import, ImportItem, SourceKind

FETCHED = "fetched"
"""The entry of an item's metadata that tells what was fetched for it."""
# What an answer says that is worth keeping for the next time.
_KEPT_HEADERS = ("etag", "last-modified", "content-type", "x-robots-tag")


@dataclass(frozen=True, slots=True)
class Held:
    """What an earlier import fetched from an address, and the file that it is kept in."""

    stored: str
    file_name: str
    headers: Mapping[str, str]

    @property
    def known(self) -> Known:
        return Known(self.headers.get("etag", ""), self.headers.get("last-modified", ""))


def held(of: Import, url: str) -> Held | None:
    """What the collection holds from `url`, if its newest bytes are those that were fetched."""
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
            return Held(str(latest.file.name), latest.file_name, answer["headers"])
    return None


def remember(item: ImportItem, answer: Fetched) -> None:
    """Keeps on the item what the next import of its address will ask with."""
    headers = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
    clean = {name: value.replace("\x00", "")[:500] for name, value in headers.items()}
    fetched = {"sha256": answer.sha256, "url": answer.url, "headers": clean}
    item.metadata = {**item.metadata, FETCHED: fetched}
    item.save(update_fields=["metadata"])
