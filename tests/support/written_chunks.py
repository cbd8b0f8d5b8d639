"""Chunks written without a parser, and the keyword signal's answers to queries about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

from ingestion.lexical import bm25_weights
from ingestion.lexical.bigrams import spaced
from ingestion.lexical.compounds import with_readings_sql
from ingestion.models import Chunk, Collection, Document, DocumentVersion
from search.domain import Candidates, Profile, Query, QueryClass, Signal, Weights
from search.retrieval import Filters, RetrievalOptions, Scope, retrieve
from tests.support.ranking import objects


def shelve(
    collection: Collection,
    config: str,
    texts: Iterable[str],
    *,
    title: str = "",
    language: str = "",
) -> list[int]:
    """Add a document with a chunk for each text, read under `config`; the chunks' ids."""
    number = Document.objects.count()
    document = Document.objects.create(
        collection=collection, title=title, language=language, content_hash=f"{config}{number}"
    )
    version = DocumentVersion.objects.create(document=document, number=1, size=1)
    Chunk.objects.bulk_create(
        Chunk(
            collection=collection,
            document=document,
            version=version,
            ordinal=i,
            searchable=True,
            text=text,
            text_config=config,
            kind="paragraph",
            start=0,
            end=1,
            tokens=12,
            content_hash=str(i),
        )
        for i, text in enumerate(texts)
    )
    bm25_weights.read_terms(version.pk, title=title)
    bm25_weights.count_in(version.pk)
    return list(version.chunks.order_by("ordinal").values_list("pk", flat=True))


def keywords_only(**fields: Any) -> Profile:
    """A profile of the keyword signal alone."""
    return Profile("test", 1, dict.fromkeys(QueryClass, Weights(0, 1, 0)), **fields)


def ask(
    text: str, *, profile: Profile | None = None, words: Sequence[str] = (), **fields: Any
) -> Candidates:
    """The candidates of the query in all collections; `words` are checked for known ones."""
    options = RetrievalOptions(signals=frozenset((Signal.SYNONYM,)), words=tuple(words))
    scope = Scope.of(None, Filters())
    return retrieve(Query(text, **fields), scope, profile or keywords_only(), options=options)


def scores(text: str, signal: Signal = Signal.KEYWORD, **fields: Any) -> dict[int, float]:
    """The chunks that the signal finds, with their scores, best first."""
    raw = {c.chunk_id: c.raw[signal] for c in objects(ask(text, **fields)) if c.raw[signal] > 0}
    return dict(sorted(raw.items(), key=lambda pair: (-pair[1], pair[0])))


def idfs(text: str, **fields: Any) -> dict[str, float]:
    """The idf of each lexeme that the query looks up."""
    return {term.lexeme: term.idf for term in ask(text, **fields).terms}


def lexemes_of(text: str, config: str = "english") -> dict[str, list[int]]:
    """The lexemes of a text as indexed, with their positions."""
    vector = with_readings_sql(f"to_tsvector('{config}', %(t)s)", f"'{config}'", "%(t)s")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT lexeme, positions FROM unnest({vector})", {"t": spaced(text)})
        return dict(cursor.fetchall())
