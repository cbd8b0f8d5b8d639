"""Judged collections under the names of ir_datasets (MacAvaney 2021), as folders to measure with.

    python -m benchmarks.irds beir/scifact/test [FOLDER]

Writes the dataset in BEIR's layout to FOLDER (default: var/judged), and prints where, for
`python -m benchmarks.judged --collection`; `make relevance` takes `irds:NAME` itself. The package
downloads a dataset when it is first read.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "irds:"
# The fields of a title, by the collections' own document types.
TITLES = ("title", "headline", "document_title")


def main() -> None:
    name, *where = sys.argv[1:] or sys.exit(__doc__)
    print(write(name.removeprefix(PREFIX), Path(*where) if where else None))


def write(name: str, folder: Path | None = None) -> Path:
    """Write the dataset to a folder of its name in `folder`, unless it is there; return that.

    Ends the program without the package, for an unknown name, for a dataset without documents,
    queries or judgements, and for one that cannot be read.
    """
    target = (folder or ROOT / "var" / "judged") / name.replace("/", "-")
    if (target / "qrels.tsv").exists():
        return target
    dataset = _dataset(name)
    target.mkdir(parents=True, exist_ok=True)
    try:
        write_rows(target / "corpus.jsonl", map(_passage, dataset.docs_iter()))
        queries = ({"_id": str(row.query_id), "text": _text(row)} for row in dataset.queries_iter())
        write_rows(target / "queries.jsonl", queries)
        lines = _judgements(dataset.qrels_iter())
    # The errors of requests are OSErrors; of a format whose package is missing, ImportErrors.
    except (OSError, RuntimeError, ImportError) as error:
        sys.exit(f"{name} could not be read: {error}")
    (target / "qrels.tsv").write_text("".join(lines), encoding="utf-8")
    return target


def _dataset(name: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        sys.exit("The package ir_datasets is not installed: pip install ir_datasets")
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        near = get_close_matches(name, ir_datasets.registry, n=5, cutoff=0.5)
        sys.exit(f"ir_datasets has no dataset {name}. Near it: {', '.join(near) or 'none'}")
    if missing := [kind for kind in ("docs", "queries", "qrels") if not dataset.has(kind)]:
        sys.exit(f"{name} has no {' and no '.join(missing)}: choose one of its subsets.")
    return dataset


def _judgements(rows: Iterable[Any]) -> Iterator[str]:
    """The lines of the judgements, each document once a query."""
    grades: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        # Judged more than once, for several aspects of a query: the best grade counts.
        key = str(row.query_id), str(row.doc_id)
        grades[key] = max(int(row.relevance), grades[key])
    return (f"{query}\t{document}\t{grade}\n" for (query, document), grade in grades.items())


def write_rows(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", errors="replace") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _passage(document: Any) -> Mapping[str, str]:
    row = document._replace(
        **{field: "" for field, value in document._asdict().items() if value is None}
    )
    title = next((getattr(row, field) for field in TITLES if hasattr(row, field)), "")
    # What ir_datasets calls a document's text begins with its title.
    text = _text(row).removeprefix(title).strip()
    return {"_id": str(row.doc_id), "title": title.strip(), "text": text}


def _text(row: Any) -> str:
    """The text of a document or a query; without one, its text fields after the id."""
    if hasattr(row, "default_text"):
        return str(row.default_text()).strip()
    return "\n".join(value for value in row[1:] if isinstance(value, str))


if __name__ == "__main__":
    main()
