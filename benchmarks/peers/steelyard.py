"""Steelyard, as it is installed; and the library, which it loads and writes for the others."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.peers.shared import RESULTS, Library, Vector
from benchmarks.site import set_up
from benchmarks.texts import RELEVANCE

SETTINGS = "the default profile as installed, in process; texts and snippets of the page included"


def prepare(name: str, folder: Path) -> None:
    """Load a judged collection as uploads, once, and write its chunks and their vectors."""
    set_up(folder / "var")
    from django.core.management import call_command

    from ingestion import spaces
    from ingestion.models import ChunkEmbedding, Visibility
    from kbsite.servers import ensure_servers
    from search.tuning.evaluation.collections import DocumentCorpus, read
    from search.tuning.evaluation.loading import load

    ensure_servers()
    call_command("migrate", verbosity=0)
    judged = read(RELEVANCE / name)
    collection = load(judged, write=print, processes=2)
    collection.visibility = Visibility.PUBLIC
    collection.save()
    passages = DocumentCorpus.of(judged, collection).documents
    rows = list(
        ChunkEmbedding.objects.filter(chunk__searchable=True)
        .order_by("chunk")
        .values_list("chunk__document", "chunk__document__title", "chunk__text", "vector")
    )
    embedder = spaces.embedder()
    queries = [query for query in judged.queries if judged.qrels.get(query)]
    questions = [judged.queries[query] for query in queries]
    Library(
        ids=[passages[document][0] for document, *_ in rows],
        texts=[f"{title}\n{text}" for _, title, text, _ in rows],
        vectors=np.array([vector.to_numpy() for *_, vector in rows], np.float32),
        queries=queries,
        questions=questions,
        asked=np.array([embedder.embed_query(each) for each in questions], np.float32),
        judged={query: dict(judged.qrels[query]) for query in queries},
    ).write(folder)
    lines = [f"{pk} {each[0]}" for pk, each in passages.items()]
    (folder / "documents.txt").write_text("\n".join(lines))


class Searcher:
    """Embeds its questions itself: each is asked once unmeasured, after which a cache has them."""

    def __init__(self, library: Library, folder: Path) -> None:
        set_up(folder / "var")
        from benchmarks.processes import postmaster
        from kbsite.servers import ensure_servers
        from kbsite.serving.garbage import spare_collections

        ensure_servers()
        lines = (folder / "documents.txt").read_text().splitlines()
        pairs = (line.split(" ", 1) for line in lines)
        self._passages = {int(pk): passage for pk, passage in pairs}
        self.processes = [postmaster()]
        spare_collections()

    def search(self, question: str, vector: Vector) -> list[str]:
        from search.pipeline import search

        groups = search(question, viewer=None).groups[:RESULTS]
        return [self._passages[group.best.document_id] for group in groups]


if __name__ == "__main__":
    prepare(sys.argv[1], Path(sys.argv[2]))
