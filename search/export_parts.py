"""What search adds to an exported collection: pins, and the name of its profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Model

from ingestion.exporting import Documents, Row, attach
from ingestion.models import Collection, Document
from search.models import Pin, ScopeProfile
from search.query.query_key import query_key

ROWS_AT_ONCE = 500


def _values(row: Model, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _is_new(row: Model, *key: str) -> bool:
    """Save the row and return True, unless a row with this key exists."""
    same = {name: getattr(row, name) for name in key}
    if type(row)._default_manager.filter(**same).exists():
        return False
    row.clean_fields(exclude=key)
    row.save()
    return True


class Pins:
    """The part of an export that holds the pins of the collection's documents."""

    name = "pins"
    fields = ("query", "position", "enabled", "note")

    def rows(self, collection: Collection, documents: Documents) -> Iterator[Row]:
        pins = Pin.objects.filter(document__in=documents).select_related("document")
        for pin in pins.order_by("pk").iterator(ROWS_AT_ONCE):
            yield {**_values(pin, self.fields), "document": str(pin.document.public_id)}

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        document = Document.objects.get(public_id=row["document"], collection=collection)
        pin = Pin(document=document, **{name: row[name] for name in self.fields})
        pin.folded = query_key(str(pin.query))
        return _is_new(pin, "folded", "document")


class OwnProfile:
    """The part of an export that holds the name of the collection's own profile."""

    name = "profile"

    def rows(self, collection: Collection, documents: Documents) -> Iterator[Row]:
        for scope in ScopeProfile.objects.filter(collection=collection):
            yield _values(scope, ("profile", "note"))

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        """Restore the name, also of a profile that is not published here; searches note that."""
        scope = ScopeProfile(collection=collection, profile=row["profile"], note=row["note"])
        return _is_new(scope, "collection")


def attach_all() -> None:
    """Register the parts."""
    for part in (Pins(), OwnProfile()):
        attach(part)
