"""Jupyter notebooks: cells in order, a little of what they printed, nothing else."""

from __future__ import annotations

import json

import pytest

from ingestion.errors import DamagedFile, NoText, TypeMismatch
from ingestion.files import filetypes
from ingestion.files.filetypes import sniff
from ingestion.parsing.formats.markup import TOO_DEEP_WARNING
from ingestion.parsing.formats.notebook import OUTPUT_CHARS
from tests.samples.builders import CODE, TABLE
from tests.samples.notebooks import make_notebook

from .conftest import Parse
from .shorthand import code, h, li, p, table

Cell = dict[str, object]

TEXT = (
    "# Beams\n\nA *steelyard* weighs.\n\n## Parts\n\n- beam\n\n"
    "| Region | Area (km2) |\n|--|--|\n| D40 | 120 |\n| D41 | 95 |\n"
)


def _markdown(text: str) -> Cell:
    return {"cell_type": "markdown", "source": text.splitlines(keepends=True)}


def _code(source: str, *outputs: Cell) -> Cell:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def _stream(text: object) -> Cell:
    return {"output_type": "stream", "name": "stdout", "text": text}


def test_cells_become_blocks(parse: Parse) -> None:
    notebook = make_notebook([_markdown(TEXT), _code(CODE), _markdown("The end.")])
    document = parse(notebook, "a.ipynb")
    assert list(document.blocks) == [
        h(1, "Beams"), p("A steelyard weighs."), h(2, "Parts"), li(0, "beam"), table(*TABLE),
        code(CODE), p("The end."),
    ]  # fmt: skip
    assert document.title == "Beams"


def test_notebook_metadata_is_read(parse: Parse) -> None:
    people = [{"name": "Ada Weigher"}, {"name": "Bo Beam"}, "nobody"]
    notebook = make_notebook([_markdown(TEXT)], title="Book of beams", authors=people)
    document = parse(notebook, "a.ipynb")
    assert (document.title, document.author) == ("Book of beams", "Ada Weigher, Bo Beam")


def test_outputs_are_kept_as_plain_text_without_pictures_html_and_tracebacks(parse: Parse) -> None:
    shown: Cell = {"text/plain": ["42\n", "43"], "text/html": "<b>bold</b>", "image/png": "iVBO"}
    outputs: tuple[Cell, ...] = (
        _stream(["weighed\n"]),
        {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": shown},
        {"output_type": "error", "ename": "ValueError", "evalue": "no beam", "traceback": ["deep"]},
    )
    document = parse(make_notebook([_code("weigh()", *outputs)]), "a.ipynb")
    assert list(document.blocks) == [code("weigh()"), code("weighed\n42\n43\nValueError: no beam")]


def test_long_outputs_are_cut(parse: Parse) -> None:
    document = parse(make_notebook([_code("weigh()", _stream("x" * 2 * OUTPUT_CHARS))]), "a.ipynb")
    assert document.blocks[1] == code("x" * OUTPUT_CHARS + " …")


def test_invalid_cells_do_not_affect_other_cells(parse: Parse) -> None:
    """Of a later format, of another kind, without a source: the others are read."""
    cells: list[object] = [
        {"cell_type": "raw", "metadata": {}, "source": "---\ntitle: Beams"},
        {"cell_type": "code", "source": None, "outputs": None},
        {"cell_type": "markdown", "source": 5, "attachments": {"a.png": {"image/png": "x"}}},
        {"cell_type": "weighing", "source": ["a new ", "kind"]},
        {"source": "no kind"},
        {"cell_type": "markdown", "source": "A hook."},
    ]
    notebook = {"nbformat": 5, "metadata": None, "cells": cells}
    document = parse(json.dumps(notebook), "a.ipynb")
    assert list(document.blocks) == [
        code("---\ntitle: Beams"),
        code("a new kind"),
        code("no kind"),
        p("A hook."),
    ]


def test_markdown_that_is_nested_too_deeply_is_read_as_text(parse: Parse) -> None:
    notebook = make_notebook([_markdown("Beams " + "[" * 5_000), _code("weigh()")])
    document = parse(notebook, "a.ipynb", wall_seconds=20)
    assert document.warnings == (TOO_DEEP_WARNING,)
    assert document.blocks[-1] == p("weigh()")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (make_notebook([_markdown(TEXT)])[:-40], "not valid JSON"),
        (b'{"a": 1}', "lacks “nbformat” or “cells”"),
        (b'{"nbformat": 4, "cells": ["x"]}', "lacks “nbformat” or “cells”"),
        (b'{"nbformat": 3, "worksheets": [{"cells": []}]}', "Open it in Jupyter and save it again"),
    ],
)
def test_file_that_is_no_notebook_is_refused(parse: Parse, content: bytes, message: str) -> None:
    with pytest.raises(DamagedFile, match=message):
        parse(content, "a.ipynb")


@pytest.mark.parametrize("cell", [_markdown(""), _code("")])
def test_an_empty_notebook_has_no_text(parse: Parse, cell: Cell) -> None:
    with pytest.raises(NoText):
        parse(make_notebook([cell]), "a.ipynb")


def test_notebooks_are_recognised_by_content() -> None:
    assert sniff(b'\n{"cells": []', "a.ipynb") is filetypes.IPYNB
    with pytest.raises(TypeMismatch, match=r"Rename it to end in \.html"):
        sniff(b"<html><p>x", "a.ipynb")
