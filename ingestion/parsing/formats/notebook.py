"""Jupyter notebooks -> Blocks: Markdown cells as Markdown, code cells as code.

Of each cell's printed output the first OUTPUT_CHARS are kept, as code: people search for numbers
and messages. Pictures, widgets, HTML and tracebacks are left out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from ingestion.domain import Completeness, Unit, Why
from ingestion.errors import DamagedFile
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.markdown import MarkdownReader
from ingestion.parsing.formats.markup import (
    TOO_DEEP_WARNING,
    Tree,
    is_too_deep,
    plain_text,
    read_tree,
    tree_metadata,
)
from ingestion.parsing.protocol import Extraction, Source

Json = dict[str, Any]

OUTPUT_CHARS = 500
"""A few lines per cell, or training logs and printed tables would dominate. A guess."""
_PLAIN_TEXT = "text/plain"


class NotebookParser:
    """Formats 4 and newer. The title is that in the metadata, or the only top heading."""

    name = "pandoc-notebook"

    def extract(self, source: Source) -> Extraction:
        notebook = _load(decode(source.path.read_bytes()))
        texts = [_joined(cell.get("source")) for cell in notebook["cells"]]
        if any(is_too_deep(text) for text in texts):
            return plain_text("\n\n".join(texts), TOO_DEEP_WARNING)
        cells = [_cell(*pair) for pair in zip(notebook["cells"], texts, strict=True)]
        metadata = notebook.get("metadata")
        whole = {
            "nbformat": 4,
            "nbformat_minor": 4,
            "metadata": metadata if isinstance(metadata, dict) else {},
            "cells": cells,
        }
        tree = read_tree(json.dumps(whole), "ipynb", source.limits)
        reader = MarkdownReader(source.limits)
        metadata = replace(tree_metadata(_jupyter(tree)), author=_authors(notebook))
        blocks, counts = reader.blocks(tree.blocks), _counts(notebook)
        return Extraction(blocks, metadata, completeness=counts)


def _load(text: str) -> Json:
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise DamagedFile(
            f"This Jupyter notebook is not valid JSON: {error}. It was probably cut off or "
            "contains merge conflict markers. Open it in Jupyter, save it and upload it again."
        ) from error
    is_one = isinstance(notebook, dict) and "nbformat" in notebook
    if not is_one or not _are_cells(notebook.get("cells")):
        raise DamagedFile(
            "This file is JSON but not a Jupyter notebook of format 4: it lacks “nbformat” or "
            "“cells”. Open it in Jupyter and save it again, or upload it with the right extension."
        )
    return cast(Json, notebook)


def _are_cells(cells: object) -> bool:
    return isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells)


def _cell(cell: Json, text: str) -> Json:
    """The cell as it should be; pandoc refuses a notebook with a single invalid cell.

    Raw cells, which are meant for other programs, are kept as code.
    """
    kind = cell.get("cell_type")
    if kind == "markdown":
        return {"cell_type": "markdown", "metadata": {}, "source": text}
    outputs = _short(cell.get("outputs")) if kind == "code" else []
    return {
        "cell_type": "code",
        "metadata": {},
        "source": text,
        "execution_count": None,
        "outputs": outputs,
    }


def _counts(notebook: Json) -> Completeness:
    """How many cells have output, and of how many it is shortened."""
    texts = [_text_of(outputs) for cell in notebook["cells"] if (outputs := cell.get("outputs"))]
    completeness = Completeness(others={Unit.OUTPUT: len(texts)})
    short = sum(len(text) > OUTPUT_CHARS for text in texts)
    completeness.add(Unit.OUTPUT, Why.SHORTENED, count=short)
    return completeness


def _text_of(outputs: object) -> str:
    texts = [_plain(output) for output in outputs] if isinstance(outputs, list) else []
    return "\n".join(text.strip("\n") for text in texts if text.strip())


def _short(outputs: object) -> list[Json]:
    """One stream with the beginning of all plain text output, or none."""
    text = _text_of(outputs)
    if len(text) > OUTPUT_CHARS:
        text = text[:OUTPUT_CHARS].rstrip() + " …"
    stream = {"output_type": "stream", "name": "stdout", "text": text}
    return [stream] if text else []


def _plain(output: object) -> str:
    if not isinstance(output, dict):
        return ""
    if output.get("output_type") == "error":
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    data = output.get("data")
    text = data.get(_PLAIN_TEXT) if isinstance(data, dict) else None
    return _joined(text or output.get("text"))


def _joined(text: object) -> str:
    """A multi-line string, which notebooks store as a list of lines or as one string."""
    if isinstance(text, list):
        return "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""


def _jupyter(tree: Tree) -> Json:
    """The notebook's own metadata, which pandoc nests under "jupyter"."""
    node = tree.meta.get("jupyter", {})
    return node["c"] if node.get("t") == "MetaMap" else {}


def _authors(notebook: Json) -> str:
    metadata = notebook.get("metadata")
    authors = metadata.get("authors") if isinstance(metadata, dict) else None
    names = [item.get("name") for item in authors or [] if isinstance(item, dict)]
    return ", ".join(name for name in names if isinstance(name, str))


PARSER = NotebookParser()
