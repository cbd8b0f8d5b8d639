"""A large corpus of real text: sliding windows over the judged collections in ../shared/relevance.

Windows overlap, so that a few tens of megabytes give any number of chunks with the vocabulary
and the document frequencies of real prose. Vectors are synthetic but clustered: around real
embeddings of a sample of the passages.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from benchmarks.texts import passages, windows
from ingestion import spaces
from ingestion.lexical import terms
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Collection,
    Document,
    DocumentVersion,
    EmbeddingSpace,
    State,
    Visibility,
)

CHUNKS_PER_DOCUMENT = 40
CENTRES = 800
NOISE = 0.6  # relative length of the noise: neighbours at a cosine of about .7, as in real text
SEED = 20_260_000


def build(chunks: int) -> Collection:
    """A public collection of `chunks` searchable chunks with term weights and vectors."""
    collection = Collection.objects.create(name=f"bench {chunks}", visibility=Visibility.PUBLIC)
    space = spaces.writing_space()
    with connection.cursor() as cursor:
        # Built once over all the vectors, which is many times faster than one by one.
        cursor.execute(f"DROP INDEX {space.index_name}")
    centres = _centres()
    chance = np.random.default_rng(SEED)
    texts = windows(chunks)
    number = 0
    while batch := list(islice(texts, CHUNKS_PER_DOCUMENT)):
        _document(collection, space, number, batch, centres, chance)
        number += 1
        if number % 250 == 0:
            print(f"  {number * CHUNKS_PER_DOCUMENT:>7} chunks", flush=True)
    terms.fold()
    spaces.create_index(space)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return collection


def _centres() -> np.ndarray:
    every = passages()
    sample = every[:: max(1, len(every) // CENTRES)][:CENTRES]
    return spaces.embedder().embed_documents([text[:600] for text in sample])


@transaction.atomic
def _document(
    collection: Collection,
    space: EmbeddingSpace,
    number: int,
    texts: list[str],
    centres: np.ndarray,
    chance: np.random.Generator,
) -> None:
    title = " ".join(texts[0].split()[:8])[:200] or f"Document {number}"
    document = Document.objects.create(
        collection=collection, title=title, language="en", content_hash=f"{collection.pk}-{number}"
    )
    version = DocumentVersion.objects.create(
        document=document,
        number=1,
        title=title,
        language="en",
        file_name=f"{number}.txt",
        media_type="text/plain",
        size=1,
        sha256=str(number),
        state=State.READY,
        chunk_count=len(texts),
        finished=timezone.now(),
    )
    rows = Chunk.objects.bulk_create(
        Chunk(
            collection=collection,
            document=document,
            version=version,
            ordinal=i,
            text=text,
            kind="paragraph",
            start=0,
            end=len(text),
            tokens=len(text) // 4,
            content_hash=f"{number}-{i}",
            text_config="english",
        )
        for i, text in enumerate(texts)
    )
    terms.read_terms(version.pk, title=title)
    Chunk.objects.filter(version=version).update(searchable=True)
    terms.count_in(version.pk)
    terms.read_title(document.pk, document.title, "en")
    document.current = document.latest = version
    document.save()
    centre = centres[number % len(centres)]
    noise = chance.standard_normal((len(rows), centres.shape[1])).astype(np.float32)
    vectors = centre + NOISE * noise / np.sqrt(centres.shape[1])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ChunkEmbedding.objects.bulk_create(
        ChunkEmbedding(chunk=row, space=space, vector=vector)
        for row, vector in zip(rows, vectors, strict=True)
    )
