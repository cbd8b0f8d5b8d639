"""What search adds to an exported collection: pins, golden queries, judgements, its profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, Model, OuterRef, Q

from ingestion.exporting import Documents, Row, attach, moment
from ingestion.models import Collection, Document
from search.models import Pin, ScopeProfile
from search.query.query_key import query_key
from search.tuning.models import GoldenQuery, Judgement

ROWS_AT_ONCE = 500


def _values(row: Model, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _seen_by(reader: Any, rows: Any) -> Any:
    """Those of the golden queries or judgements that the reader may see; None sees all."""
    may_see = reader is None or reader.has_perm("tuning.view_judgement")
    return (rows if reader is None else rows.visible_to(reader)) if may_see else rows.none()


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

    def rows(self, collection: Collection, documents: Documents, reader: Any) -> Iterator[Row]:
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

    def rows(self, collection: Collection, documents: Documents, reader: Any) -> Iterator[Row]:
        for scope in ScopeProfile.objects.filter(collection=collection):
            yield _values(scope, ("profile", "note"))

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        """Restore the name, also of a profile that is not published here; searches note that."""
        scope = ScopeProfile(collection=collection, profile=row["profile"], note=row["note"])
        return _is_new(scope, "collection")


class GoldenQueries:
    """The golden queries of a collection: limited to it, or with its documents as answers."""

    name = "golden-queries"
    fields = ("text", "query_class", "enabled", "note")

    def rows(self, collection: Collection, documents: Documents, reader: Any) -> Iterator[Row]:
        judged = Judgement.objects.filter(query=OuterRef("pk"), document__in=documents)
        related = Q(Exists(judged)) | Q(collections=[collection.slug])
        related |= Q(must_be_first__in=documents)
        queries = _seen_by(reader, GoldenQuery.objects.filter(related))
        for query in queries.select_related("must_be_first").order_by("pk").iterator(ROWS_AT_ONCE):
            first = query.must_be_first
            own = first is not None and documents.filter(pk=first.pk).exists()
            yield {
                "id": str(query.public_id),
                # Either all collections or this one: the others are not exported.
                "everywhere": not query.collections,
                **_values(query, self.fields),
                "must_be_first": str(first.public_id) if first is not None and own else None,
                "created": query.created.isoformat(),
            }

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        if _golden(row["id"], row, collection) is not None:
            return False
        first = Document.objects.filter(public_id=row["must_be_first"], collection=collection)
        query = GoldenQuery(
            public_id=row["id"],
            collections=_scope(row, collection),
            must_be_first=first.first() if row["must_be_first"] else None,
            created=moment(row["created"]),
            **{name: row[name] for name in self.fields},
        )
        query.clean_fields(exclude=["folded", "collections"])
        query.save()
        return True


class Judgements:
    """The judgements of a collection's documents."""

    name = "judgements"

    def rows(self, collection: Collection, documents: Documents, reader: Any) -> Iterator[Row]:
        judgements = _seen_by(reader, Judgement.objects.filter(document__in=documents))
        for one in judgements.select_related("query").order_by("pk").iterator(ROWS_AT_ONCE):
            yield {
                "query": str(one.query.public_id),
                "text": one.query.text,
                "everywhere": not one.query.collections,
                "document": str(one.reference),
                "title": one.title,
                "grade": one.grade,
                "judge": one.judge_name,
                "note": one.note,
                "created": one.created.isoformat(),
            }

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        query = _golden(row["query"], row, collection)
        if query is None:
            raise ValueError(f"no golden query {row['query']}")
        document = Document.objects.get(public_id=row["document"], collection=collection)
        judgement = Judgement(
            query=query,
            document=document,
            reference=document.public_id,
            judge_name=row["judge"],  # a name only: accounts differ between installations
            title=row["title"],
            grade=row["grade"],
            note=row["note"],
            created=moment(row["created"]),
        )
        return _is_new(judgement, "query", "reference", "judge_name")


def _scope(row: dict[str, Any], collection: Collection) -> list[str]:
    """The collections that a golden query searches; empty for all."""
    return [] if row["everywhere"] else [collection.slug]


def _golden(public_id: str, row: dict[str, Any], collection: Collection) -> GoldenQuery | None:
    """The golden query with this id, or with the row's text and collections."""
    same = Q(folded=query_key(str(row["text"])), collections=_scope(row, collection))
    return GoldenQuery.objects.filter(Q(public_id=public_id) | same).first()


def attach_all() -> None:
    """Register the parts: a judgement's golden query is restored before it."""
    for part in (Pins(), OwnProfile(), GoldenQueries(), Judgements()):
        attach(part)
