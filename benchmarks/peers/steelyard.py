"""Steelyard, as it is installed; and the library, which it loads and writes for the others."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.peers.shared import RESULTS, Library, Vector, write
from benchmarks.temporary_site import ROOT, set_up
from benchmarks.texts import RELEVANCE, questions

SETTINGS = (
    "the default profile as installed, in process; texts and snippets of the page included;"
    " results are not kept, embeddings of questions are"
)
_PAGE = 5_000
_HEADER = 4  # bytes before a halfvec's numbers: its dimensions
_CHUNKS = """
SELECT c.id, c.document_id, d.title || E'\\n' || c.text, halfvec_send(e.vector)
FROM ingestion_chunk c JOIN ingestion_chunkembedding e ON e.chunk_id = c.id
JOIN ingestion_document d ON d.id = c.document_id
WHERE c.searchable AND c.id > %s ORDER BY c.id LIMIT %s
"""


def prepare(name: str, folder: Path, queries: int) -> None:
    """Migrate the library, load a judged collection once, and write the chunks and their vectors.

    A name that is a number is the library of that size, which `benchmarks.search_speed` has built.
    """
    set_up(site_of(folder))
    from django.core.management import call_command

    from kbsite.embedded import ensure_servers

    logging.getLogger("ingestion.events").setLevel(logging.WARNING)  # a line for each upload
    ensure_servers()
    try:
        call_command("migrate", verbosity=0)
        if name.isdecimal():
            _write_sized(folder, int(name), queries)
        elif not (folder / "library.json").exists():
            _write_judged(name, folder)
    finally:
        _stop()


def site_of(folder: Path) -> Path:
    """The folder of the installation: one for each judged collection, and the existing one of a
    size.
    """
    name = folder.name
    return ROOT / "var" / "bench" / name if name.isdecimal() else folder / "var"


def _stop() -> None:
    from django.conf import settings
    from django.db import connections

    connections.close_all()
    settings.EMBEDDED.stop()


def _write_judged(name: str, folder: Path) -> None:
    from benchmarks.judged.collections import DocumentCorpus, read
    from benchmarks.judged.loading import load
    from ingestion.models import Visibility

    judged = read(RELEVANCE / name)
    collection = load(judged, write=print, processes=2)
    collection.visibility = Visibility.PUBLIC
    collection.save()
    passages = DocumentCorpus.of(judged, collection).documents
    chunks = ((passages[document][0], text, vector) for _, document, text, vector in _chunks())
    queries = [query for query in judged.queries if judged.qrels.get(query)]
    words = [judged.queries[query] for query in queries]
    grades = {query: dict(judged.qrels[query]) for query in queries}
    lines = [f"{pk} {each[0]}" for pk, each in passages.items()]
    (folder / "documents.txt").write_text("\n".join(lines))
    write(
        folder,
        chunks,
        _count(),
        queries=queries,
        questions=words,
        question_vectors=_embedded(words),
        judged=grades,
    )


def _write_sized(folder: Path, size: int, queries: int) -> None:
    """Write the library of that size unless it exists: the same chunks, by their keys, and
    questions.
    """
    from benchmarks import corpus

    if not corpus.is_built(size):
        sys.exit(f"Build it first: python -m benchmarks.search_speed --sizes {size} --build-only")
    words = questions(queries)
    if (folder / "library.json").exists():
        stored = Library.read(folder)
        if stored.questions == words and [int(stored.ids[0]), int(stored.ids[-1])] == _ends():
            return
    print(f"Writing {size:,} chunks for the peers ...", flush=True)
    chunks = ((str(chunk), text, vector) for chunk, _, text, vector in _chunks())
    write(
        folder,
        chunks,
        size,
        queries=[str(i) for i in range(len(words))],
        questions=words,
        question_vectors=_embedded(words),
        judged={},
    )


def _count() -> int:
    from ingestion.models import ChunkEmbedding

    return ChunkEmbedding.objects.filter(chunk__searchable=True).count()


def _ends() -> list[int]:
    """The keys of the first and the last chunk."""
    from django.db.models import Max, Min

    from ingestion.models import Chunk

    ends = Chunk.objects.filter(searchable=True).aggregate(first=Min("pk"), last=Max("pk"))
    return [ends["first"], ends["last"]]


def _chunks() -> Iterator[tuple[int, int, str, Vector]]:
    """Key, document, text after its title, and vector of every chunk, a page at a time."""
    from django.db import connection

    last = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_CHUNKS, [last, _PAGE])
            page = cursor.fetchall()
        if not page:
            return
        for chunk, document, text, sent in page:
            vector = np.frombuffer(sent, ">f2", offset=_HEADER).astype(np.float32)
            yield chunk, document, text, vector
        last = page[-1][0]


def _embedded(words: list[str]) -> Vector:
    from ingestion import spaces

    embedder = spaces.embedder()
    return np.array([embedder.embed_query(each) for each in words], np.float32)


class Searcher:
    """Embeds its questions itself: each is asked once unmeasured, after which a cache has them."""

    def __init__(self, library: Library, folder: Path, site: Path | None = None) -> None:
        set_up(site or site_of(folder))
        from benchmarks.processes import postmaster
        from kbsite.apps import spare_collections
        from kbsite.embedded import ensure_servers

        ensure_servers()
        self._passages: dict[int, str] = {}
        if library.judged:
            lines = (folder / "documents.txt").read_text().splitlines()
            pairs = (line.split(" ", 1) for line in lines)
            self._passages = {int(pk): passage for pk, passage in pairs}
        self._numbers = {} if library.judged else {int(pk): i for i, pk in enumerate(library.ids)}
        self.processes = [postmaster()]
        spare_collections()

    def search(self, question: str, vector: Vector) -> list[str]:
        from search.pipeline import search

        response = search(question, viewer=None)
        if response.degraded:
            raise RuntimeError(f"{question} was answered without {response.degraded}.")
        best = [group.best for group in response.groups[:RESULTS]]
        if self._passages:
            return [self._passages[each.document_id] for each in best]
        return [str(each.chunk_id) for each in best]

    def nearest(self, question: str, vector: Vector) -> list[str]:
        from search.domain import Signal
        from search.domain.candidates import SIGNALS
        from search.pipeline import search

        rows = search(question, viewer=None).ranking.candidates.rows
        scores = np.nan_to_num(rows["raw"][:, SIGNALS.index(Signal.VECTOR)], nan=-1.0)
        best = rows["chunk"][np.argsort(-scores)][:RESULTS]
        return [str(self._numbers[int(chunk)]) for chunk in best]

    def close(self) -> None:
        """Stop the servers."""
        _stop()


if __name__ == "__main__":
    prepare(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
