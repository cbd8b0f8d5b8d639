"""Judged collections in BEIR layout, read from disk and loaded through the upload path.

A corpus row becomes a text file named by its title. Rows with the same text become one document,
as for any upload; the judgements of each of their ids apply to it. Collections whose judgements
name sections of documents instead are in `sections`.
"""

from __future__ import annotations

import hashlib
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from django.db.models import F

from ingestion import services
from ingestion.models import Collection, Document, State, Visibility
from ingestion.models.collections import JUDGED
from search.engine.ranking import Ranking
from search.tuning.evaluation.beir import QRELS, QUERIES, EvaluationError, qrels_of, rows

CORPUS = "corpus.jsonl"
# Every document needs a title; this one occurs in all of them, so that its idf is near 0.
UNTITLED = "untitled.txt"


@dataclass(frozen=True, slots=True)
class CorpusPassage:
    """A row of a corpus."""

    id: str
    title: str
    text: str

    @property
    def file(self) -> bytes:
        """The content to upload; empty if the row has no text."""
        return (self.text.strip() or self.title).encode("utf-8", "replace")

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.file).hexdigest()


@dataclass(frozen=True, slots=True)
class JudgedCollection:
    """A corpus, queries for it, and their relevance judgements.

    `queries` holds the text of each query that has a relevant passage; `qrels` the grade of each
    judged passage by query, 0 or more.
    """

    name: str
    folder: Path
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]

    def passages(self) -> Iterator[CorpusPassage]:
        for row in rows(self.folder / CORPUS):
            yield CorpusPassage(
                str(row["_id"]), str(row.get("title") or "").strip(), str(row.get("text") or "")
            )


class Corpus(Protocol):
    """The documents of a judged collection, with the names that judgements use."""

    @property
    def slugs(self) -> Sequence[str]:
        """The collections to search; empty: all."""

    @property
    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """The grades of the documents that can be found here, by query."""

    def ranked(self, query: str, ranking: Ranking) -> list[str]:
        """The names of the results of a judged query, best first, without repeats."""


@dataclass(frozen=True, slots=True)
class DocumentCorpus:
    """A corpus that was loaded passage by passage.

    `documents` has the corpus ids of each document. A document has the rank of its best passage.
    """

    slugs: tuple[str, ...]
    qrels: Mapping[str, Mapping[str, int]]
    documents: Mapping[int, Sequence[str]]

    @classmethod
    def of(cls, judged: JudgedCollection, collection: Collection) -> Self:
        return cls((collection.slug,), judged.qrels, documents_of(judged, collection))

    def ranked(self, query: str, ranking: Ranking) -> list[str]:
        return [name for each in ranking.documents for name in self.documents.get(each, ())]


def read(folder: Path) -> JudgedCollection:
    """The judged collection in `folder`. Raises EvaluationError if it is not a valid one."""
    missing = [name for name in (CORPUS, QUERIES, QRELS) if not (folder / name).is_file()]
    if missing:
        raise EvaluationError(
            f"{folder} is not a judged collection: {', '.join(missing)} is missing. It needs "
            f"{CORPUS}, {QUERIES} and {QRELS}, as BEIR lays them out."
        )
    qrels = qrels_of(folder / QRELS)
    queries = {str(row["_id"]): str(row["text"]) for row in rows(folder / QUERIES, "text")}
    judged = {query: text for query, text in queries.items() if any(qrels.get(query, {}).values())}
    if not judged:
        raise EvaluationError(f"No query of {folder} has a relevant passage in {QRELS}.")
    return JudgedCollection(folder.resolve().name, folder, judged, qrels)


def find(name: str, root: Path | None) -> JudgedCollection:
    """The collection at the path `name`, or of that name under `root`."""
    candidates = [Path(name), *([root / name] if root else [])]
    for folder in candidates:
        if folder.is_dir():
            return read(folder)
    raise EvaluationError(
        f"There is no folder {name!r}{f' and none in {root}' if root else ''}. Give the path of "
        "a judged collection; without --collection, the one that ships is used."
    )


def find_all(root: Path) -> list[JudgedCollection]:
    """Every judged collection under `root`, by name."""
    folders = sorted(path.parent for path in root.glob(f"*/{QRELS}"))
    if not folders:
        raise EvaluationError(
            f"There is no judged collection in {root}. Set RELEVANCE_DIR to a folder of them."
        )
    return [read(folder) for folder in folders]


def corpus_collection(judged: JudgedCollection) -> Collection:
    """The collection that holds the corpus; created, hidden from readers, if it is missing."""
    collection, _ = Collection.objects.undeleted().get_or_create(
        name=f"{JUDGED}{judged.name}",
        defaults={
            "visibility": Visibility.GROUPS,
            "description": "Passages with judgements, to measure search with.",
        },
    )
    return collection


def receive_missing(judged: JudgedCollection, collection: Collection) -> list[int]:
    """Upload the documents of the corpus that the collection lacks; return the versions to wait
    for.

    Existing documents stay; those that are not in the corpus are removed. Rows without a word are
    skipped: no query could match them.
    """
    passages = {passage.sha256: passage for passage in judged.passages() if passage.file.strip()}
    present = {
        document.content_hash: document
        for document in collection.documents.undeleted().select_related("latest", "collection")
    }
    obsolete = [document for digest, document in present.items() if digest not in passages]
    services.purge(obsolete)
    versions = []
    for digest, passage in passages.items():
        document = present.get(digest)
        if document is None:
            versions.append(_receive(collection, passage))
        elif passage.title and document.title != passage.title[:500]:
            described = services.describe(document, acting_user=None, title=passage.title)
            versions.append(_latest(described))
        elif document.latest is None or document.latest.state != State.READY:
            services.retry([document], acting_user=None)
            versions.append(_latest(document))
    return versions


def documents_of(judged: JudgedCollection, collection: Collection) -> dict[int, list[str]]:
    """The corpus ids of each searchable document, by its primary key."""
    ids = defaultdict(list)
    for passage in judged.passages():
        ids[passage.sha256].append(passage.id)
    searchable = collection.documents.undeleted().filter(current=F("latest"))
    rows = searchable.values_list("pk", "content_hash")
    return {pk: ids[digest] for pk, digest in rows if digest in ids}


def _receive(collection: Collection, passage: CorpusPassage) -> int:
    receipt = services.receive(
        collection,
        io.BytesIO(passage.file),
        file_name=UNTITLED,
        title=passage.title,
        acting_user=None,
    )
    return receipt.version.pk


def _latest(document: Document) -> int:
    assert document.latest_id is not None
    return document.latest_id
