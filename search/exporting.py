"""Pins and the profile of its own, as parts of a collection's export (`ingestion.exporting`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingestion.exporting.format import Row
from ingestion.models import Collection, Document
from search.models import Pin, ScopeProfile
from search.query.expand import query_key

ROWS_AT_ONCE = 500


class Pins:
    """The part of an export that holds the pins of the collection's documents."""

    name = "pins"

    def rows(self, collection: Collection) -> Iterator[Row]:
        pins = Pin.objects.filter(document__in=kept_documents(collection)).select_related(
            "document"
        )
        for pin in pins.order_by("pk").iterator(ROWS_AT_ONCE):
            yield {
                "query": pin.query,
                "document": str(pin.document.public_id),
                "position": pin.position,
                "enabled": pin.enabled,
                "note": pin.note,
            }

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        document = Document.objects.get(public_id=row["document"], collection=collection)
        _pin, made = Pin.objects.get_or_create(
            folded=query_key(str(row["query"])),
            document=document,
            defaults={
                "query": str(row["query"]),
                "position": int(row["position"]),
                "enabled": bool(row["enabled"]),
                "note": str(row["note"]),
            },
        )
        return made


class OwnProfile:
    """The part of an export that holds the name of the collection's own profile."""

    name = "profile"

    def rows(self, collection: Collection) -> Iterator[Row]:
        for scope in ScopeProfile.objects.filter(collection=collection):
            yield {"profile": scope.profile, "note": scope.note}

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        """Also for a profile that is not published here: searches then say so."""
        fields = {"profile": str(row["profile"])[:60], "note": str(row["note"])}
        _scope, made = ScopeProfile.objects.get_or_create(collection=collection, defaults=fields)
        return made


def kept_documents(collection: Collection) -> Any:
    """The documents of a collection that are exported: those not in the bin."""
    return Document.objects.filter(collection=collection, deleted_at=None, latest__isnull=False)
