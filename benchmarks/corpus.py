"""A large corpus of real text: sliding windows over the judged collections in ../shared/relevance.

Windows overlap, so that a few tens of megabytes give any number of chunks with the vocabulary
and the document frequencies of real prose. Vectors are synthetic but clustered: around real
embeddings of a sample of the passages.

A build has three steps, each resumed where it was interrupted: documents are copied in batches,
one transaction each, without the indexes; the indexes are built over the whole; the terms are
counted. Weights are computed by the product's own statement, with the average length of a sample.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from django.db import connection, models, transaction
from django.utils import timezone

from benchmarks.texts import Windows, passages
from ingestion import spaces
from ingestion.lexical import bm25_weights
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Collection,
    CorpusStatistics,
    Document,
    DocumentVersion,
    EmbeddingSpace,
    State,
    TermFrequency,
    Visibility,
)

CHUNKS_PER_DOCUMENT = 40
CENTRES = 800
NOISE = 0.6  # relative length of the noise: neighbours at a cosine of about .7, as in real text
SEED = 20_260_000

BATCH = 100  # documents of a transaction
CONNECTIONS = 2  # Postgres does the work: one process for each core
SAMPLE = 50  # documents for the average length of a chunk
# A graph that does not fit is built on disk, many times slower: 1.1 kB a vector of 384 dimensions.
INDEX_MEMORY = "2GB"
INDEX_WORKERS = 1  # beside the one that leads

# What the indexes are while they are dropped. The table's absence says that the corpus is complete.
_KEEP_INDEXES = """
CREATE TABLE benchmark_index AS
SELECT indexname AS name, indexdef AS definition FROM pg_indexes
JOIN pg_class ON relname = indexname JOIN pg_index ON indexrelid = pg_class.oid
WHERE schemaname = 'public' AND NOT indisunique AND tablename = ANY(%s)
"""
_COUNT_TERMS = """
INSERT INTO {frequency} (collection_id, lexeme, chunks)
SELECT %(collection)s, word, ndoc FROM ts_stat(
    'SELECT lexemes FROM {chunk} WHERE searchable AND collection_id = ' || %(collection)s)
ORDER BY word
"""
_COUNT_CHUNKS = """
UPDATE {statistics} SET (chunks, total_length) = (
    SELECT count(*), coalesce(sum(length), 0) FROM {chunk}
    WHERE searchable AND collection_id = %(collection)s)
WHERE collection_id = %(collection)s
"""
_TABLES = {
    "chunk": Chunk._meta.db_table,
    "frequency": TermFrequency._meta.db_table,
    "statistics": CorpusStatistics._meta.db_table,
}


def is_built(chunks: int) -> bool:
    """Whether the corpus of that many chunks is complete in this database."""
    is_whole = "benchmark_index" not in connection.introspection.table_names()
    return is_whole and Chunk.objects.count() == chunks


def build(chunks: int) -> Collection:
    """A public collection of `chunks` searchable chunks with term weights and vectors."""
    collection, _ = Collection.objects.get_or_create(
        name=_name(chunks), defaults={"visibility": Visibility.PUBLIC}
    )
    space = spaces.writing_space()
    _timed("indexes dropped", _drop_indexes)
    _timed("documents loaded", lambda: _load(collection, space, chunks))
    _timed("terms counted", lambda: _count(collection))
    _build_indexes()
    _timed("vacuumed", lambda: _run("VACUUM ANALYZE", "CHECKPOINT"))
    _run("DROP TABLE benchmark_index")
    return collection


def _name(chunks: int) -> str:
    return f"bench {chunks}"


def _timed(what: str, step: Callable[[], object]) -> None:
    started = time.perf_counter()
    step()
    print(f"  {what} in {time.perf_counter() - started:.0f} s", flush=True)


def _run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _drop_indexes() -> None:
    if "benchmark_index" in connection.introspection.table_names():
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_KEEP_INDEXES, [[Chunk._meta.db_table, ChunkEmbedding._meta.db_table]])
        cursor.execute("SELECT name FROM benchmark_index")
        for (name,) in cursor.fetchall():
            cursor.execute(f'DROP INDEX "{name}"')


def _build_indexes() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET maintenance_work_mem = '{INDEX_MEMORY}'")
        cursor.execute(f"SET max_parallel_maintenance_workers = {INDEX_WORKERS}")
        cursor.execute(
            "SELECT definition, name FROM benchmark_index"
            " WHERE name NOT IN (SELECT indexname FROM pg_indexes) ORDER BY name"
        )
        for definition, name in cursor.fetchall():
            _timed(f"index {name} built", partial(_run, definition))


def _load(collection: Collection, space: EmbeddingSpace, chunks: int) -> None:
    """Load the documents that are not there yet."""
    centres, windows = _centres(), Windows(chunks)
    documents = -(-chunks // CHUNKS_PER_DOCUMENT)
    prefix = f"{collection.pk}-"
    hashes = Document.objects.filter(collection=collection).values_list("content_hash", flat=True)
    there = {int(each.removeprefix(prefix)) for each in hashes}
    todo = [number for number in range(documents) if number not in there]
    if not there:  # the weights of the first chunks would else be those of a shorter average
        sample = todo[:: max(1, len(todo) // SAMPLE)]
        _load_batch(collection, space, sample, windows, centres)
        todo = sorted({*todo} - {*sample})
        _set_average(collection)
    batches = [todo[i : i + BATCH] for i in range(0, len(todo), BATCH)]
    state = threading.local()

    def load(numbers: list[int]) -> None:
        if not hasattr(state, "ready"):
            _run("SET synchronous_commit = off", "SET session_replication_role = replica")
            state.ready = True
        _load_batch(collection, space, numbers, windows, centres)

    started = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for done, _ in enumerate(pool.map(load, batches), start=1):
            # Reuses the space of the rows' first form, as autovacuum does at its own pace.
            _run("VACUUM (INDEX_CLEANUP OFF, TRUNCATE OFF) " + Chunk._meta.db_table)
            if done % 25 == 0 or done == len(batches):
                seconds = time.perf_counter() - started
                print(f"  {done / len(batches):.0%} after {seconds:.0f} s", flush=True)


def _load_batch(
    collection: Collection,
    space: EmbeddingSpace,
    numbers: Sequence[int],
    windows: Windows,
    centres: np.ndarray,
) -> None:
    with transaction.atomic():
        texts = {
            number: windows[number * CHUNKS_PER_DOCUMENT : (number + 1) * CHUNKS_PER_DOCUMENT]
            for number in numbers
        }
        documents = _documents(collection, texts)
        rows = [
            Chunk(
                collection=collection,
                document_id=version.document_id,
                version=version,
                ordinal=i,
                searchable=True,
                text=text,
                kind="paragraph",
                start=0,
                end=len(text),
                tokens=len(text) // 4,
                content_hash=f"{number}-{i}",
                text_config="english",
            )
            for number, version in documents.items()
            for i, text in enumerate(texts[number])
        ]
        _copy(rows)
        for version in documents.values():
            bm25_weights.read_terms(version.pk, title=version.title)
        _embed(rows, space, np.concatenate([_vectors(n, len(texts[n]), centres) for n in numbers]))


def _documents(collection: Collection, texts: dict[int, list[str]]) -> dict[int, DocumentVersion]:
    """The current versions of new documents, by number."""
    titles = {
        number: " ".join(its[0].split()[:8])[:200] or f"Document {number}"
        for number, its in texts.items()
    }
    documents = Document.objects.bulk_create(
        Document(
            collection=collection,
            title=titles[number],
            language="en",
            content_hash=f"{collection.pk}-{number}",
        )
        for number in texts
    )
    versions = DocumentVersion.objects.bulk_create(
        DocumentVersion(
            document=document,
            number=1,
            title=document.title,
            language="en",
            file_name=f"{number}.txt",
            media_type="text/plain",
            size=1,
            sha256=str(number),
            state=State.READY,
            chunk_count=len(texts[number]),
            finished=timezone.now(),
        )
        for number, document in zip(texts, documents, strict=True)
    )
    for document, version in zip(documents, versions, strict=True):
        bm25_weights.read_title(document.pk, document.title, "en")
        document.current = document.latest = version
    Document.objects.bulk_update(documents, ["current", "latest"])
    return dict(zip(texts, versions, strict=True))


def _copy(rows: Sequence[models.Model]) -> None:
    """Insert the rows by COPY, and set their keys."""
    meta = rows[0]._meta
    fields = [field for field in meta.concrete_fields if not field.generated]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
            [meta.db_table, meta.pk.column, len(rows)],
        )
        for row, (key,) in zip(rows, cursor.fetchall(), strict=True):
            row.pk = key
        prepared = [list(_prepared(field, rows)) for field in fields]
        with cursor.copy(f'COPY "{meta.db_table}" ({columns}) FROM STDIN') as copy:
            for values in zip(*prepared, strict=True):
                copy.write_row(values)


def _prepared(field: models.Field[Any, Any], rows: Sequence[models.Model]) -> Iterator[Any]:
    """The field's values as the database adapter expects them. Most columns have only one value."""
    last = value = None
    for i, row in enumerate(rows):
        current = field.pre_save(row, True)
        if i == 0 or current != last:
            last, value = current, field.get_db_prep_save(current, connection)
        yield value


def _vectors(number: int, count: int, centres: np.ndarray) -> np.ndarray:
    chance = np.random.default_rng((SEED, number))
    noise = chance.standard_normal((count, centres.shape[1]), dtype=np.float32)
    vectors = centres[number % len(centres)] + NOISE * noise / np.sqrt(centres.shape[1])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _embed(rows: Sequence[models.Model], space: EmbeddingSpace, vectors: np.ndarray) -> None:
    """Insert the vectors by binary COPY: as text they would cost more than everything else here."""
    width = vectors.shape[1]
    # https://www.postgresql.org/docs/current/sql-copy.html, and pgvector's halfvec_send.
    record = np.dtype(
        [("fields", ">i2"), ("n1", ">i4"), ("chunk", ">i8"), ("n2", ">i4"), ("space", ">i8"),
         ("n3", ">i4"), ("width", ">i2"), ("unused", ">i2"), ("vector", ">f2", (width,))]
    )  # fmt: skip
    data = np.zeros(len(rows), record)
    data["fields"], data["n1"], data["n2"], data["n3"] = 3, 8, 8, 4 + 2 * width
    data["chunk"], data["space"] = [row.pk for row in rows], space.pk
    data["width"], data["vector"] = width, vectors
    statement = (
        f'COPY "{ChunkEmbedding._meta.db_table}" (chunk_id, space_id, vector)'
        " FROM STDIN (FORMAT binary)"
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + data.tobytes() + b"\xff\xff")


def _set_average(collection: Collection) -> None:
    """Give all weights the average length of the chunks so far."""
    length = Chunk.objects.filter(collection=collection).aggregate(average=models.Avg("length"))
    CorpusStatistics.objects.create(
        collection=collection,
        text_config="english",
        chunks=0,
        total_length=0,
        weighed_length=length["average"],
    )


def _count(collection: Collection) -> None:
    """Count the terms and chunks of the collection, as `bm25_weights.fold` would add them up."""
    with transaction.atomic(), connection.cursor() as cursor:
        TermFrequency.objects.filter(collection=collection).delete()
        for statement in (_COUNT_TERMS, _COUNT_CHUNKS):
            cursor.execute(statement.format(**_TABLES), {"collection": collection.pk})


def _centres() -> np.ndarray:
    every = passages()
    sample: Iterable[str] = every[:: max(1, len(every) // CENTRES)][:CENTRES]
    return spaces.embedder().embed_documents([text[:600] for text in sample])
