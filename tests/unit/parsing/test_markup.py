"""Markdown, HTML and reStructuredText beyond the plain: nothing a reader sees is lost."""

from __future__ import annotations

import pytest

from ingestion.domain import Block
from ingestion.parsing.formats.rst import role_text

from .conftest import Parse
from .shorthand import code, define, h, li, p, table

RST_CASES: dict[str, tuple[str, list[Block]]] = {
    "setting": (".. setting:: ALLOWED_HOSTS\n\nText.", [p("ALLOWED_HOSTS"), p("Text.")]),
    "announced-heading": (
        "Text.\n\n.. setting:: DEBUG\n\n``DEBUG``\n=========\n\nDefault: False\n",
        [p("Text."), h(1, "DEBUG"), p("Default: False")],
    ),
    "function": (
        ".. function:: render(request, template_name, *args, **kwargs)\n\n   Renders.\n",
        define("render", p("render(request, template_name, *args, **kwargs)"), p("Renders.")),
    ),
    "class": (
        ".. class:: Model(**kwargs)\n\n   Body.\n\n"
        "   .. attribute:: Model.objects_\n\n      All.\n\n"
        "After.\n",
        [
            *define(
                "Model",
                p("Model(**kwargs)"),
                p("Body."),
                *define("Model.objects_", p("Model.objects_"), p("All.")),
            ),
            p("After."),
        ],
    ),
    "list-in-an-object": (
        ".. class:: A\n\n    .. method:: b()\n\n      Two:\n\n"
        "      - one, as a\n        number.\n      - two, as a\n        word.\n",
        define(
            "A",
            p("A"),
            *define("b", p("b()"), p("Two:"), li(0, "one, as a number."), li(0, "two, as a word.")),
        ),
    ),
    "style-class": (".. class:: wide\n\nText.", [p("Text.")]),
    "command": (
        ".. django-admin:: migrate [app_label]\n\n.. django-admin-option:: --database DB, -d\n",
        [p("migrate [app_label]"), p("--database DB, -d")],
    ),
    "module": (
        ".. module:: django.db\n   :synopsis: Databases.\n\nText.",
        [p("django.db"), p("Databases."), p("Text.")],
    ),
    "versions": (
        ".. versionadded:: 5.2\n\n   It is new.\n\n.. deprecated:: 5.0 Use another.\n",
        [p("New in version 5.2"), p("It is new."), p("Deprecated since version 5.0 Use another.")],
    ),
    "admonitions": (
        ".. warning:: Hot.\n\n.. admonition:: Why?\n\n   Because.\n\n.. seealso::\n\n   More.\n",
        [p("Warning: Hot."), p("Why?"), p("Because."), p("More.")],
    ),
    "console": (".. console::\n\n   $ one\n   $ two\n\nText.", [code("$ one\n$ two"), p("Text.")]),
    "definitions": (
        "term\n   First.\n\n   Second.\n\nother : kind\n   Third.\n",
        [
            *define("term", li(0, "term: First."), p("Second.")),
            *define("other", li(0, "other : kind: Third.")),
        ],
    ),
    "command-with-options": (
        ".. django-admin-option:: --database DB\n\n   Which one.\n",
        define("--database", p("--database DB"), p("Which one.")),
    ),
    "labels": (
        ".. _one:\n.. _two:\n\n``A`` heading\n=============\n\n"
        "See :ref:`two`, :ref:`ref-elsewhere`, :doc:`/topics/db/queries` and |django-users|.\n",
        [h(1, "A heading"), p("See A heading, elsewhere, queries and django-users.")],
    ),
    "file-metadata": (
        ":orphan:\n:version: 3\n\nTitle\n=====\n\nText.\n",
        [h(1, "Title"), p("Text.")],
    ),
    "literal-after-a-note": (
        ".. note:: It is\n   this::\n\n       class A:\n           x = 1\n",
        [p("Note: It is this:"), code("class A:\n    x = 1")],
    ),
    "silent": (".. currentmodule:: a.b\n\n.. toctree::\n\n   intro\n\nText.", [p("Text.")]),
    "includes": (
        ".. include:: /etc/passwd\n\n.. literalinclude:: a.py\n   :lines: 1-2\n\n"
        ".. raw:: html\n   :file: /etc/passwd\n\n.. csv-table:: T\n   :file: a.csv\n\nText.",
        [p("Text.")],
    ),
    "footnote": ("Text [1]_ goes on.\n\n.. [1] A note.\n", [p("Text goes on."), p("A note.")]),
}


@pytest.mark.parametrize("case", RST_CASES)
def test_restructuredtext_cases_are_read(parse: Parse, case: str) -> None:
    source, expected = RST_CASES[case]
    assert list(parse(source, "a.rst").blocks) == expected


@pytest.mark.parametrize(
    ("role", "content", "text"),
    [
        ("class", "~django.db.models.Model", "Model"),
        ("meth", ".QuerySet.filter", "QuerySet.filter()"),
        ("func", "render() <django.shortcuts.render>", "render()"),
        ("py:func", "!len", "len()"),
        ("doc", "/topics/http/views", "views"),
        ("ref", "the label <some-ref>", "the label"),
    ],
)
def test_roles_read_as_sphinx_prints_them(role: str, content: str, text: str) -> None:
    assert role_text(role, content) == text


def test_top_title_wins_over_several_top_headings(parse: Parse) -> None:
    source = "=======\n``A`` b\n=======\n\nText.\n\n===\nTwo\n===\n\nMore.\n"
    assert parse(source, "a.rst").title == "A b"


MARKDOWN_CASES: dict[str, tuple[str, list[Block]]] = {
    "alert": ("> [!NOTE]\n> Read on.\n", [p("Note: Read on.")]),
    "definitions": (
        "One\n: First.\n\n: Second.\n\nTwo\n: Third.\n",
        [*define("One", li(0, "One: First."), p("Second.")), *define("Two", li(0, "Two: Third."))],
    ),
    "item-with-code": (
        "- item\n\n  ```\n  x\n  ```\n\n- next\n",
        [li(0, "item"), code("x"), li(0, "next")],
    ),
    "html-table": (
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\n",
        [table(("a", "b"), ("1", "2"))],
    ),
    "details": (
        "<details>\n<summary>More</summary>\n\ninner\n\n</details>\n",
        [p("More"), p("inner")],
    ),
    "footnote": ("Text.[^1]\n\nNext.\n\n[^1]: A note.\n", [p("Text."), p("A note."), p("Next.")]),
    "inline": ("*a* **b** `c` [d](http://e) ![f](g.png) ~~h~~ i<br>j\n", [p("a b c d f h i\nj")]),
    "bad-front-matter": ("---\na: [\n---\n\nText.\n", [h(2, "a: ["), p("Text.")]),
}


@pytest.mark.parametrize("case", MARKDOWN_CASES)
def test_markdown_cases_are_read(parse: Parse, case: str) -> None:
    source, expected = MARKDOWN_CASES[case]
    assert list(parse(source, "a.md").blocks) == expected


HTML_CASES: dict[str, tuple[str, list[Block]]] = {
    "spans": (
        "<table><tr><th>A</th><th colspan=2>B</th></tr><tr><td rowspan=2>1</td><td>2</td>"
        "<td>3</td></tr><tr><td>4</td><td>5</td></tr></table>",
        [table(("A", "B", ""), ("1", "2", "3"), ("", "4", "5"))],
    ),
    "layout-table": (
        "<table><tr><td><h2>Left</h2><p>Text.</p></td><td><p>Right.</p></td></tr></table>",
        [h(2, "Left"), p("Text."), p("Right.")],
    ),
    "definition": (
        "<dl><dt>Term</dt><dd>Meaning.<p>More.</p></dd></dl><p>After.</p>",
        [*define("Term", li(0, "Term: Meaning."), p("More.")), p("After.")],
    ),
    "script": ("<p>a<script>x()</script>b</p><style>p{}</style>", [p("a"), p("b")]),
    # docs/prompt-injection.md: shown to readers as well, so that nothing steers an answer unseen.
    "hidden": (
        "<p hidden>a</p><div style='display:none'>b</div><!-- c --><p style='color:#fff'>d</p>",
        [p("a"), p("b"), p("d")],
    ),
    "entities": ("<p>a &lt; b &amp; c&nbsp;d &#x1F600;</p>", [p("a < b & c\xa0d 😀")]),
    "powers": ("<p>10<sup>6</sup> H<sub>2</sub>O</p>", [p("10⁶ H₂O")]),
    "broken": ("<p>one<div>two</p></span><b>three", [p("one"), p("two"), p("three")]),
    "caption": (
        "<table><caption>Sizes</caption><tr><th>a</th><th>b</th></tr>"
        "<tr><td>1</td><td>2</td></tr></table>",
        [p("Sizes"), table(("a", "b"), ("1", "2"))],
    ),
}


@pytest.mark.parametrize("case", HTML_CASES)
def test_html_cases_are_read(parse: Parse, case: str) -> None:
    source, expected = HTML_CASES[case]
    assert list(parse(f"<!doctype html><body>{source}", "a.html").blocks) == expected


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<nav>Home</nav><p>A beam.</p><NAV class=x><ul><li>On</ul></NAV>", ["A beam."]),
        ("<main><nav>Contents</nav><p>A beam.</p></main>", ["A beam."]),
        ("<head><title>Index</title></head><nav><p>Beams</p></nav>", ["Beams"]),
        ("<p>A beam.</p><nav><p>not closed", ["A beam.", "not closed"]),
        ("<p>A beam.</p><navy>blue</navy>", ["A beam.", "blue"]),
    ],
)
def test_menus_are_left_out_of_a_page_that_says_more(
    parse: Parse, page: str, texts: list[str]
) -> None:
    assert [block.text for block in parse(page, "a.html").blocks] == texts


def test_cell_over_a_hundred_million_columns_is_cut_to_the_limit(parse: Parse) -> None:
    first = "<tr><td colspan='100000000'>a</td></tr>"
    second = "<tr><td rowspan=100000000>b</td><td>c</td></tr>"
    (block,) = parse(f"<table>{first}{second}</table>", "a.html", wall_seconds=20).blocks
    assert len(block.rows[0]) == 1000
    assert block.rows[1][:2] == ("b", "c")


def test_toml_front_matter_is_read(parse: Parse) -> None:
    front = 'title = "On beams"\nauthors = ["Ada", "Ben"]\ndate = 2024-05-01\n[extra]\nx = 1\n'
    document = parse(f"+++\n{front}+++\n\n# Beams\n\nText.\n", "a.md")
    assert list(document.blocks) == [h(1, "Beams"), p("Text.")]
    stated = (document.title, document.author, document.created)
    assert stated == ("On beams", "Ada, Ben", "2024-05-01")
    (block,) = parse("+++\nno toml at all\n+++\n", "a.md").blocks
    assert "no toml at all" in block.text


SESSIONS = """
Run it like this::

    $ python manage.py

    >>> not.a("session")

Then a session:

>>> print("*args*")
*args*
>>> count = 1

* an item::

      in the item

  >>> inside = 2
  2

A paragraph that says
>>> is one paragraph.

.. code-block:: rst
    :caption: ``shown.rst`` and :file:`docs/*.rst`

    .. include:: shown.rst

    >>> shown
"""


def test_sessions_and_literal_blocks_of_rst_are_code(parse: Parse) -> None:
    blocks = parse(SESSIONS, "a.rst").blocks
    assert [(block.kind.value, block.text) for block in blocks] == [
        ("paragraph", "Run it like this:"), ("code", '$ python manage.py\n\n>>> not.a("session")'),
        ("paragraph", "Then a session:"), ("code", '>>> print("*args*")\n*args*\n>>> count = 1'),
        ("list_item", "an item:"), ("code", "in the item"), ("code", ">>> inside = 2\n2"),
        ("paragraph", "A paragraph that says >>> is one paragraph."),
        ("paragraph", "shown.rst and docs/*.rst"),
        ("code", ".. include:: shown.rst\n\n>>> shown"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "ruby",
    [
        "<ruby>中村<rp>(</rp><rt>なか<b>むら</b></rt><rp>)</rp></ruby>",
        "<RUBY class=x>中<rt>なか村<rt>むら</RUBY>".replace("なか村", "なか<rb>村</rb>"),
        "<ruby><rb>中村</rb><rt>なかむら</rt></ruby>",
    ],
)
def test_words_with_readings_stay_joined(parse: Parse, ruby: str) -> None:
    document = parse(f"<html><body><p>担当者は{ruby}です。</p></body></html>", "a.html")
    assert [block.text for block in document.blocks] == ["担当者は中村です。", "なかむら"]
