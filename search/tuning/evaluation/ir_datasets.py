"""Judged collections under the names of ir_datasets (MacAvaney 2021): `irds:beir/scifact/test`.

The package downloads a collection when it is first read. It is an extra: imported when needed.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from search.tuning.evaluation.judged_collections import (
    CorpusPassage,
    EvaluationError,
    JudgedCollection,
)

PREFIX = "irds:"
NOT_INSTALLED = (
    "Collections named irds:... are read by the package ir_datasets, which is not installed: "
    "pip install --require-hashes -r requirements/ir-datasets.txt"
)
# The fields of a title, by the collections' own document types.
TITLES = ("title", "headline", "document_title")


@dataclass(frozen=True)
class IrdsCollection(JudgedCollection):
    """A dataset of ir_datasets. Its documents are uploaded whole, whatever their length."""

    dataset: Any

    def passages(self) -> Iterator[CorpusPassage]:
        with _read(self.name):
            yield from map(_passage, self.dataset.docs_iter())

    @cached_property
    def corpus_name(self) -> str:
        """The name of the dataset that has these documents; its subsets share them."""
        return PREFIX + str(_package().docs_parent_id(self.name.removeprefix(PREFIX)))

    def corpus_hash(self) -> str:
        """SHA-256 of the documents' ids, titles and texts."""
        digest = hashlib.sha256()
        for each in self.passages():
            digest.update(f"{each.id}\0{each.title}\0{each.text}\0".encode("utf-8", "replace"))
        return digest.hexdigest()


def load_dataset(name: str) -> IrdsCollection:
    """The judged collection `irds:...`, with the queries that have a relevant document.

    Raises EvaluationError without the package, for an unknown name, for a dataset without
    documents, queries or judgements, and for one that cannot be downloaded.
    """
    dataset = _registered(name.removeprefix(PREFIX))
    with _read(name):
        qrels: dict[str, dict[str, int]] = defaultdict(dict)
        for row in dataset.qrels_iter():
            # Judged more than once, for several aspects of a query: the best grade counts.
            grades = qrels[str(row.query_id)]
            grades[str(row.doc_id)] = max(int(row.relevance), grades.get(str(row.doc_id), 0))
        queries = {str(row.query_id): _text(row) for row in dataset.queries_iter()}
    judged = {query: text for query, text in queries.items() if any(qrels.get(query, {}).values())}
    if not judged:
        raise EvaluationError(f"No query of {name} has a relevant document.")
    return IrdsCollection(name, Path(name), judged, dict(qrels), dataset)


def _registered(name: str) -> Any:
    package = _package()
    try:
        dataset = package.load(name)
    except KeyError:
        near = get_close_matches(name, package.registry, n=5, cutoff=0.5)
        raise EvaluationError(
            f"ir_datasets has no dataset {name}. {_list('Near it', near)}All: ir-datasets.com"
        ) from None
    missing = [kind for kind in ("docs", "queries", "qrels") if not dataset.has(kind)]
    if missing:
        subsets = (each for each in package.registry if each.startswith(f"{name}/"))
        judged = [each for each in subsets if package.load(each).has("qrels")]
        raise EvaluationError(
            f"{PREFIX}{name} has no {' and no '.join(missing)}, which an evaluation needs. "
            + _list("Its judged subsets", judged[:10])
        )
    return dataset


def _package() -> Any:
    try:
        import ir_datasets
    except ImportError as error:
        raise EvaluationError(NOT_INSTALLED) from error
    return ir_datasets


def _list(label: str, names: list[str]) -> str:
    return f"{label}: {', '.join(PREFIX + name for name in names)}. " if names else ""


@contextmanager
def _read(name: str) -> Iterator[None]:
    """Raise errors of the download with the name of the dataset and the reason."""
    try:
        yield
    # The errors of requests are OSErrors; of a format whose package is missing, ImportErrors.
    except (OSError, RuntimeError, ImportError) as error:
        raise EvaluationError(f"{name} could not be read: {error}") from error


def _passage(document: Any) -> CorpusPassage:
    row = document._replace(
        **{field: "" for field, value in document._asdict().items() if value is None}
    )
    title = next((getattr(row, field) for field in TITLES if hasattr(row, field)), "")
    # What ir_datasets calls a document's text begins with its title.
    return CorpusPassage(str(row.doc_id), title.strip(), _text(row).removeprefix(title).strip())


def _text(row: Any) -> str:
    """The text of a document or a query; without one, its text fields after the id."""
    if hasattr(row, "default_text"):
        return str(row.default_text()).strip()
    return "\n".join(value for value in row[1:] if isinstance(value, str))
