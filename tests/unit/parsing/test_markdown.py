"""Markdown without pandoc gives the blocks that pandoc's reader gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingestion.domain import Block
from ingestion.parsing.child.child import clean_block
from ingestion.parsing.formats import markdown
from ingestion.parsing.formats.pandoc_tree import Node
from ingestion.parsing.limits import ParseLimits

from .conftest import Parse
from .shorthand import code, h, li, p

ROOT = Path(__file__).resolve().parents[3]
LIMITS = ParseLimits()
CASES = (
    "# One *two*\n\nThree  four\nfive  \nsix\\\nseven\n\nTwo\n---\n",
    "Title\n=====\n\n- a\n- b\n  - c\n\n    more\n\n3. three\n4) four\n\n* * *\n",
    "> quoted\n> on\n\n    indented  code\n\n```python\nx = [1]  # $a$ :b:\n\n\ty\n```\n",
    'A [link](http://a.b/c_d_e "t"), ![an *image*](x.png), `a  b`, `c\n    d` and *e*f_g_h.',
    "See https://a.b/c_d_e, (http://f.g/h_i) and www.j.k/l_m_; to n_o_p@q.r, &copy; &lt;s&gt;",
    "a<br>b <i>c</i> <!-- d --> 1 < 2 <https://e.f/g_h>\n\n<div>\n<b>i</b>\n</div>\n\nj",
    "It costs $5 and $6 :smile: ~~gone~~ at http://a.b/<c_d>/e_f and [](g).\n\n***h*** i\\ \nj",
    "# A $b$\n\n1. c :tada:\n2. d | e\n\n> https://f.g/h*i*\n",
    "Windows\r\nlines\r\n\r\n- of\r\n- text\r\n",
)


def blocks(nodes: list[Node]) -> list[Block]:
    read = markdown.MarkdownReader(LIMITS).blocks(nodes)
    return [clean for block in read if (clean := clean_block(block))]


def by_pandoc(text: str) -> list[Node]:
    return markdown.pandoc_tree(text, LIMITS).blocks


def files() -> Iterator[Path]:
    yield from sorted(ROOT.glob("docs/*.md"))
    yield from sorted(ROOT.glob("docs/adr/00[0-1]*.md"))
    yield ROOT / "README.md"
    yield ROOT / "CHANGELOG.md"


@pytest.mark.parametrize("text", CASES)
def test_every_kind_of_markup_is_read(text: str) -> None:
    assert blocks(markdown.nodes_of(text, by_pandoc)) == blocks(by_pandoc(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs $10,000/$20,000 or $5-$10.", "It costs $10,000/$20,000 or $5-$10."),
        ("pay R$79,90 or US$1,499.00 (A$2,299)", "pay R$79,90 or US$1,499.00 (A$2,299)"),
        ("the area $x^2$ of $n$ fields", "the area x^2 of n fields"),
        ("Run cmd <file> with <your-key>.", "Run cmd <file> with <your-key>."),
        ("a List<String> or Vec<T<u8>>", "a List<String> or Vec<T<u8>>"),
        ("a <b>bold</b> word<br>and <Tag>one</Tag>", "a bold word\nand one"),
    ],
)
def test_amounts_and_placeholders_stay_as_they_are_written(text: str, expected: str) -> None:
    (block,) = blocks(markdown.nodes_of(text, by_pandoc))
    assert block.text == expected


def test_real_markdown_files_are_read_as_by_pandoc() -> None:
    read = 0
    for path in files():
        text = path.read_text()
        try:
            nodes = markdown.nodes_of(text, by_pandoc)
        except markdown.BeyondCommonMark:
            continue
        read += 1
        assert blocks(nodes) == blocks(by_pandoc(text)), path
    assert read > 5


def test_pandoc_reads_only_unusual_paragraphs() -> None:
    asked: list[str] = []

    def ask(text: str) -> list[Node]:
        asked.append(text)
        return by_pandoc(text)

    markdown.nodes_of("# Plain\n\nText of *words* and\n\n    a $listing$\n", ask)
    assert not asked
    markdown.nodes_of("Plain.\n\n- Odd: $x$\n\nPlain.\n\n# :tada: odd\n", ask)
    assert asked == ["Odd Odd: $x$\n\nOdd :tada: odd"]


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "a | b\r\n--|--\r\n1 | 2\r\n",
        "Text.[^1]\n\n[^1]: A note.\n",
        "> [!NOTE]\n> Read on.\n",
        "- [x] done\n",
        "---\ntitle: A\n---\n\nText.\n",
        "[a][b]\n\n[b]: http://c.d\n",
        "<table><tr><td>1</td></tr></table>\n",
        "> " * 30 + "deep",
        "odd $x$\n    - y\n",  # without its indentation the second line is a list
    ],
)
def test_file_beyond_commonmark_is_read_by_pandoc(text: str) -> None:
    with pytest.raises(markdown.BeyondCommonMark):
        markdown.nodes_of(text, by_pandoc)


def test_bodies_of_mkdocs_containers_are_text_below_their_titles(parse: Parse) -> None:
    text = (
        '# Pump\n\n!!! note\n    Bleed the line.\n\n    - slowly\n\n!!! danger inline end "Hot"\n'
        '    Wait.\n\n    ??? tip ""\n\n        Open it.\n\n=== "Linux"\n\n'
        "    ```sh\n    vent 30\n    ```\n\nStart.\n\n!!! is no mark here\n\n"
        "```\n!!! note\n    An example.\n```\n"
    )
    assert list(parse(text, "a.md").blocks) == [
        h(1, "Pump"),
        p("Note"),
        p("Bleed the line."),
        li(0, "slowly"),
        p("Hot"),
        p("Wait."),
        p("Open it."),
        p("Linux"),
        code("vent 30"),
        p("Start."),
        p("!!! is no mark here"),
        code("!!! note\n    An example."),
    ]
