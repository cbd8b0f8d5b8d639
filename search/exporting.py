"""What search keeps about a collection's documents, as parts of its export: see
`ingestion.exporting`. Golden queries and pins go only as far as they name its documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef, Q

from ingestion.exporting.format import Row, attach, moment
from ingestion.models import Collection, Document
from search.models import Pin
from search.query.expand import fold_query
from search.tuning.models import GoldenQuery, Judgement

ROWS_AT_ONCE = 500


class GoldenQueries:
    """The questions that one of its documents was judged for, or that are asked in it alone."""

    name = "golden-queries"

    def rows(self, collection: Collection) -> Iterator[Row]:
        judged = Judgement.objects.filter(query=OuterRef("pk"), document__in=_kept(collection))
        wanted = Q(Exists(judged)) | Q(collections=[collection.slug])
        wanted |= Q(must_be_first__in=_kept(collection))
        queries = GoldenQuery.objects.filter(wanted).select_related("must_be_first").order_by("pk")
        for query in queries.iterator(ROWS_AT_ONCE):
            first = query.must_be_first
            own = first is not None and first.collection_id == collection.pk
            yield {
                "id": str(query.public_id),
                "text": query.text,
                # Its own collection, or every one; not those that do not go along.
                "everywhere": not query.collections,
                "query_class": query.query_class,
                "origin": query.origin,
                "must_be_first": str(first.public_id) if first is not None and own else None,
                "enabled": query.enabled,
                "note": query.note,
                "created": query.created.isoformat(),
            }

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        where = [] if row["everywhere"] else [collection.slug]
        text = str(row["text"])
        if _golden(row["id"], text, where) is not None:
            return False
        first = Document.objects.filter(public_id=row["must_be_first"], collection=collection)
        query = GoldenQuery(
            public_id=row["id"],
            text=text,
            collections=where,
            query_class=row["query_class"],
            origin=row["origin"],
            must_be_first=first.first() if row["must_be_first"] else None,
            enabled=bool(row["enabled"]),
            note=str(row["note"]),
            created=moment(row["created"]),
        )
        query.clean_fields(exclude=["folded", "collections"])
        query.save()
        return True


class Judgements:
    """What people think of its documents as answers."""

    name = "judgements"

    def rows(self, collection: Collection) -> Iterator[Row]:
        judgements = Judgement.objects.filter(document__in=_kept(collection))
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
        where = [] if row["everywhere"] else [collection.slug]
        query = _golden(row["query"], str(row["text"]), where)
        if query is None:
            raise ValueError(f"no golden query {row['query']}")
        document = Document.objects.get(public_id=row["document"], collection=collection)
        # Judged by a name: who that is here nobody can tell.
        _judgement, made = Judgement.objects.get_or_create(
            query=query,
            reference=document.public_id,
            judge_name=str(row["judge"]),
            defaults={
                "document": document,
                "title": str(row["title"])[:500],
                "grade": int(row["grade"]),
                "note": str(row["note"]),
                "created": moment(row["created"]),
            },
        )
        return made


class Pins:
    """The questions that its documents come first for."""

    name = "pins"

    def rows(self, collection: Collection) -> Iterator[Row]:
        pins = Pin.objects.filter(document__in=_kept(collection)).select_related("document")
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
            folded=fold_query(str(row["query"])),
            document=document,
            defaults={
                "query": str(row["query"]),
                "position": int(row["position"]),
                "enabled": bool(row["enabled"]),
                "note": str(row["note"]),
            },
        )
        return made


def attach_all() -> None:
    """Adds them to every export, in the order in which they can be restored."""
    for part in (GoldenQueries(), Judgements(), Pins()):
        attach(part)


def _kept(collection: Collection) -> Any:
    return Document.objects.filter(collection=collection, deleted_at=None, latest__isnull=False)


def _golden(public_id: str, text: str, collections: list[str]) -> GoldenQuery | None:
    """The golden query under that id, or the one that asks the same in the same place."""
    same = Q(folded=fold_query(text), collections=collections)
    return GoldenQuery.objects.filter(Q(public_id=public_id) | same).first()
