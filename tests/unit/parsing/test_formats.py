"""Each format: the exact blocks and metadata of a file made by code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ingestion.domain import Block
from ingestion.files import filetypes
from ingestion.parsing.child.child import outcome_of
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Source
from tests.samples import builders
from tests.samples.builders import CODE, TABLE

from .conftest import Parse
from .shorthand import code, h, li, p, table

SENTENCE = "A steelyard weighs by sliding a weight."
PARTS = [h(2, "Parts"), li(0, "beam"), li(1, "long arm"), li(0, "hook"), table(*TABLE)]


def _facts(document: object) -> tuple[object, ...]:
    return tuple(getattr(document, name) for name in ("title", "author", "language", "created"))


def test_markdown_sample_is_read(parse: Parse) -> None:
    document = parse(builders.make_markdown(title="The book of beams"), "a.md")
    front = [li(0, "author: Ada Weigher"), li(0, "date: 2024-05-01")]
    text = [h(1, "Beam handbook"), p(SENTENCE), *PARTS, code(CODE)]
    assert list(document.blocks) == [*front, *text]
    assert _facts(document) == ("The book of beams", "Ada Weigher", "en", "2024-05-01")


def test_restructuredtext_sample_is_read(parse: Parse) -> None:
    document = parse(builders.make_rst(), "a.rst")
    assert list(document.blocks) == [h(1, "Beam handbook"), p(SENTENCE), *PARTS, code(CODE)]
    assert _facts(document) == ("Beam handbook", "Ada Weigher", "", "2024-05-01")


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16"])
def test_html_sample_is_read(parse: Parse, encoding: str) -> None:
    page = builders.make_html(title="Größe der Waage", encoding=encoding)
    document = parse(page, "a.html")
    assert list(document.blocks) == [h(1, "Beam handbook"), p(SENTENCE), *PARTS, code(CODE)]
    assert _facts(document) == ("Größe der Waage", "Ada Weigher", "en", "")


def test_docx_sample_is_read(parse: Parse) -> None:
    document = parse(builders.make_docx(title="The book of beams"), "a.docx")
    lists = [li(0, "beam"), li(0, "long arm"), li(0, "hook")]
    assert list(document.blocks) == [
        h(1, "Beam handbook"), p(SENTENCE), h(2, "Parts"), *lists, table(*TABLE),
    ]  # fmt: skip
    assert _facts(document)[:3] == ("The book of beams", "Ada Weigher", "en")
    assert document.created == "", "that of python-docx's template"


def test_odt_sample_is_read(parse: Parse) -> None:
    document = parse(builders.make_odt(title="The book of beams"), "a.odt")
    assert list(document.blocks) == [h(1, "Beam handbook"), p(SENTENCE)]
    assert _facts(document)[:2] == ("The book of beams", "Ada Weigher")


def test_pdf_sample_is_read(parse: Parse) -> None:
    document = parse(builders.make_pdf(title="The book of beams"), "a.pdf")
    assert list(document.blocks) == [
        h(1, "Beam handbook", page=1),
        p("A steelyard weighs by sliding a weight along a beam until it is level.", page=1),
        h(2, "Parts", page=1), li(0, "beam", page=1), li(0, "hook", page=1), table(*TABLE, page=1),
        h(2, "Use", page=2), p("Read the weight where the beam is level.", page=2),
    ]  # fmt: skip
    assert _facts(document)[:3] == ("The book of beams", "Ada Weigher", "en")
    assert document.page_count == 2


@pytest.mark.parametrize(
    ("content", "name", "blocks", "facts"),
    [
        (builders.make_csv(), "a.csv", [table(*TABLE)], ("", "", "")),
        (builders.make_csv("\t"), "a.tsv", [table(*TABLE)], ("", "", "")),
        (b"one\ntwo\n\nthree\n", "a.txt", [p("one\ntwo"), p("three")], ("", "", "")),
        (
            builders.make_epub(),
            "a.epub",
            [h(1, "Parts"), p(SENTENCE)],
            ("Beam handbook", "Ada Weigher", "en"),
        ),
        (
            builders.make_asciidoc(),
            "a.adoc",
            [
                li(0, "author: Ada Weigher"),
                h(1, "Parts"),
                p("A steelyard weighs."),
                li(0, "beam"),
                li(1, "long arm"),
            ],
            ("Beam handbook", "Ada Weigher", ""),
        ),
        (
            builders.make_org(),
            "a.org",
            [li(0, "author: Ada Weigher"), h(1, "Parts"), p("A steelyard weighs."), li(0, "beam")],
            ("Beam handbook", "Ada Weigher", ""),
        ),
        (
            builders.make_rtf(),
            "a.rtf",
            [p("Beam handbook"), p("A steelyard weighs by sliding.")],
            ("", "", ""),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_samples_of_other_formats_are_read(
    parse: Parse, content: bytes, name: str, blocks: list[Block], facts: tuple[str, ...]
) -> None:
    document = parse(content, name)
    assert list(document.blocks) == blocks
    assert _facts(document)[:3] == facts


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# Beams\n\ntext\n\n## Hooks\n", "Beams"),
        ("# Beams\n\ntext\n\n# Hooks\n", ""),
        ("## Beams\n\ntext\n\n# Hooks\n", ""),
        ("text\n\n# Beams\n", "Beams"),
        ("text\n", ""),
    ],
)
def test_the_only_top_heading_is_the_title(parse: Parse, source: str, title: str) -> None:
    document = parse(source, "a.md")
    assert document.title == title


@pytest.mark.parametrize(
    ("package", "file_type"), [("liteparse", filetypes.PDF), ("anydoc", filetypes.DOCX)]
)
def test_a_missing_package_is_named(
    package: str, file_type: filetypes.FileType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = builders.make_docx() if package == "anydoc" else builders.make_pdf([[("p", "A")]])
    (tmp_path / "stored").write_bytes(content)
    monkeypatch.setitem(sys.modules, package, None)
    outcome = outcome_of(Source(tmp_path / "stored", file_type, ParseLimits(), tmp_path), 0)
    assert outcome["error"] == "ParseFailed"
    assert f"lacks the package {package}, which reads {file_type.label}" in str(outcome["message"])
