"""What search adds to an exported collection: pins, golden queries, judgements, its profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from ingestion.exporting import Row, attach, moment
from ingestion.models import Collection, Document
from search.models import Pin, ScopeProfile
from search.query.query_key import query_key
from search.tuning.models import GoldenQuery, Judgement

ROWS_AT_ONCE = 500


class Pins:
    """The part of an export that holds the pins of the collection's documents."""

    name = "pins"

    def rows(self, collection: Collection, documents: QuerySet[Document]) -> Iterator[Row]:
        pins = Pin.objects.filter(document__in=documents).select_related("document")
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
        _pin, is_new = Pin.objects.get_or_create(
            folded=query_key(str(row["query"])),
            document=document,
            defaults={
                "query": str(row["query"]),
                "position": int(row["position"]),
                "enabled": bool(row["enabled"]),
                "note": str(row["note"]),
            },
        )
        return is_new


class OwnProfile:
    """The part of an export that holds the name of the collection's own profile."""

    name = "profile"

    def rows(self, collection: Collection, documents: QuerySet[Document]) -> Iterator[Row]:
        for scope in ScopeProfile.objects.filter(collection=collection):
            yield {"profile": scope.profile, "note": scope.note}

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        """Restore the name, also of a profile that is not published here; searches note that."""
        fields = {"profile": str(row["profile"])[:60], "note": str(row["note"])}
        _scope, is_new = ScopeProfile.objects.get_or_create(collection=collection, defaults=fields)
        return is_new


class GoldenQueries:
    """The golden queries of a collection: limited to it, or with its documents as answers."""

    name = "golden-queries"

    def rows(self, collection: Collection, documents: QuerySet[Document]) -> Iterator[Row]:
        judged = Judgement.objects.filter(query=OuterRef("pk"), document__in=documents)
        related = Q(Exists(judged)) | Q(collections=[collection.slug])
        related |= Q(must_be_first__in=documents)
        queries = GoldenQuery.objects.filter(related).select_related("must_be_first").order_by("pk")
        for query in queries.iterator(ROWS_AT_ONCE):
            first = query.must_be_first
            own = first is not None and documents.filter(pk=first.pk).exists()
            yield {
                "id": str(query.public_id),
                "text": query.text,
                # Either all collections or this one: the others are not exported.
                "everywhere": not query.collections,
                "query_class": query.query_class,
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
            origin=GoldenQuery.Origin.IMPORTED,
            must_be_first=first.first() if row["must_be_first"] else None,
            enabled=bool(row["enabled"]),
            note=str(row["note"]),
            created=moment(row["created"]),
        )
        query.clean_fields(exclude=["folded", "collections"])
        query.save()
        return True


class Judgements:
    """The judgements of a collection's documents."""

    name = "judgements"

    def rows(self, collection: Collection, documents: QuerySet[Document]) -> Iterator[Row]:
        judgements = Judgement.objects.filter(document__in=documents)
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
        # The judge is a name only: accounts differ between installations.
        _judgement, is_new = Judgement.objects.get_or_create(
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
        return is_new


def _golden(public_id: str, text: str, collections: list[str]) -> GoldenQuery | None:
    """The golden query with this id, or with the same text and collections."""
    same = Q(folded=query_key(text), collections=collections)
    return GoldenQuery.objects.filter(Q(public_id=public_id) | same).first()


def attach_all() -> None:
    """Register the parts: a judgement's golden query is restored before it."""
    for part in (Pins(), OwnProfile(), GoldenQueries(), Judgements()):
        attach(part)
