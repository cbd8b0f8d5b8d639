"""Other readers' output on their own public test files, as their repositories keep it.

`folder` holds checkouts of docling-project/docling and Unstructured-IO/unstructured, named so.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import chain, zip_longest
from pathlib import Path

from benchmarks.reading.independent_readers import markdown_text
from benchmarks.reading.recall import words

MOST = 30
# Those in which readers differ: hardly in text, CSV and books.
_FORMATS = {"pdf", "docx", "doc", "xlsx", "pptx", "ppt", "html", "md", "odt", "odp", "ods"}
# Shorter outputs say little; longer ones (whole books) more of one file than of a format.
_FEWEST_WORDS, _MOST_WORDS = 40, 20_000


@dataclass(frozen=True)
class StoredOutput:
    """A public file, and its text as `peer` reads it."""

    peer: str
    path: Path
    text: str


def stored_outputs(folder: Path) -> list[StoredOutput]:
    """At most MOST, of each format in turn: those whose file and output both are stored."""
    by_format = defaultdict(list)
    for output in chain(_docling(folder / "docling"), _unstructured(folder / "unstructured")):
        extension = output.path.suffix[1:]
        if extension in _FORMATS and _FEWEST_WORDS <= words(output.text).total() <= _MOST_WORDS:
            by_format[output.peer, extension].append(output)
    turns = zip_longest(*(by_format[key] for key in sorted(by_format)))
    each = [output for output in chain.from_iterable(turns) if output]
    return sorted(each[:MOST], key=lambda one: (one.path.suffix, one.path.name, one.peer))


def _docling(root: Path) -> Iterator[StoredOutput]:
    for path in sorted(root.glob("tests/data/*/groundtruth/*.md")):
        sources = path.parent.parent / "sources"
        # A PDF's output is named without its extension.
        source = next(
            filter(Path.is_file, (sources / path.stem, sources / f"{path.stem}.pdf")), None
        )
        if source:
            text = unescape(markdown_text(path.read_text(encoding="utf-8")))
            yield StoredOutput("docling", source, text)


def _unstructured(root: Path) -> Iterator[StoredOutput]:
    sources = {path.name: path for path in sorted(root.glob("example-docs/**/*.*"))}
    stored = root / "test_unstructured_ingest" / "expected-structured-output"
    outputs = {path.name.removesuffix(".json"): path for path in sorted(stored.rglob("*.json"))}
    for name in sorted(sources.keys() & outputs.keys()):
        elements = json.loads(outputs[name].read_text(encoding="utf-8"))
        text = "\n\n".join(element["text"] for element in elements)
        yield StoredOutput("unstructured", sources[name], text)
