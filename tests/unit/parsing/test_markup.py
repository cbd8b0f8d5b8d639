"""Markdown, HTML and reStructuredText beyond the plain: nothing a reader sees is lost."""

from __future__ import annotations

import pytest

from ingestion.domain import Block, Why
from ingestion.errors import UnsupportedType
from ingestion.files.filetypes import sniff
from ingestion.parsing.formats.rst import role_text

from .conftest import Parse
from .shorthand import code, define, h, li, p, table

RST_CASES: dict[str, tuple[str, list[Block]]] = {
    "setting": (".. setting:: ALLOWED_HOSTS\n\nText.", [p("ALLOWED_HOSTS"), p("Text.")]),
    "announced-heading": (
        "Text.\n\n.. setting:: DEBUG\n\n``DEBUG``\n=========\n\nDefault: False\n",
        [p("Text."), h(1, "DEBUG"), p("Default: False")],
    ),
    "anchors": (
        "Text.\n\n.. setting:: CACHES-VERSION\n.. setting:: OLD_VERSION\n\n"
        "``VERSION``\n===========\n\nDefault: 1\n\n.. class:: Kept\n\nNext\n====\n\nMore.\n",
        [p("Text."), h(1, "VERSION"), p("Default: 1"), p("Kept"), h(1, "Next"), p("More.")],
    ),
    "pictures": (
        ".. image:: a.png\n   :alt: The login screen\n\n.. image:: b.png\n\n"
        "Press |c| now.\n\n.. |c| image:: c.png\n   :alt: OK\n\n"
        ".. figure:: d.png\n   :alt: Two lamps\n\n   Two lamps\n",
        [p("[The login screen]"), p("Press OK now."), p("Two lamps")],
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
        ":orphan:\n:tocdepth: 3\n\nTitle\n=====\n\nText.\n",
        [h(1, "Title"), p("Text.")],
    ),
    "fields-below-the-title": (
        "Title\n=====\n\n:Version: 1.2\n:Author: Ada Lund\n:Status: draft\n\nText.\n",
        [
            h(1, "Title"),
            *define("Version", li(0, "Version: 1.2")),
            *define("Status", li(0, "Status: draft")),
            p("Text."),
        ],
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
    "literals-that-end-in-a-backtick": (
        "The form ``:role:`text <link>```, as ``:tag:`block```.\n\n"
        "The ``admindocs`` page.\n\n"
        "+--------------+---+\n| ``:tag:`a``` | b |\n+--------------+---+\n\n"
        "Literal::\n\n  ``:tag:`a``` and ``\n  cp a \\\n  b\n",
        [
            p("The form :role:`text <link>`, as :tag:`block`."),
            p("The admindocs page."),
            table((":tag:`a`", "b"), header=False),
            p("Literal:"),
            code("``:tag:`a``` and ``\ncp a \\\nb"),
        ],
    ),
    "backticks-that-begin-no-literal": (
        "Two backticks (``) around ``a``.\n\nAn end is ``missing in\nthis one.\n\nThe ``b`` one.\n",
        [
            p("Two backticks (``) around a."),
            p("An end is ``missing in this one."),
            p("The b one."),
        ],
    ),
    "roles-that-pandoc-does-not-read": (
        "By :github_user:`na387`, for :meth:`~auth.User.\\\nget_hash`.\n",
        [p("By na387, for get_hash().")],
    ),
    "role-that-ends-in-two-backticks": (
        "By :class:`State <a.State>`` to the ``disk``.\n",
        [p("By State` to the disk.")],
    ),
    "space-before-the-colons": (
        ".. warning ::\n\n   It is :setting:`LARGE`.\n\n.. note :: See ``me``.\n",
        [p("Warning: It is LARGE."), p("Note: See me.")],
    ),
    "option-over-two-lines": (
        ".. module:: syndication\n   :synopsis: Feeds, quite\n              easily.\n",
        [p("syndication"), p("Feeds, quite easily.")],
    ),
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
    "raised": (
        "10<sup>6</sup> of CO<sub>2</sub>\n\n<p>5 m<sup>2</sup></p>\n",
        [p("10⁶ of CO₂"), p("5 m²")],
    ),
    "attributes": (
        "# Beams {#beams}\n\n## C{x} {: .no_toc}\n\n### {x} {#y .z a=1}\n\nText.\n{: .note}\n",
        [h(1, "Beams"), h(2, "C{x}"), h(3, "{x}"), p("Text.")],
    ),
    "attributes-beyond-commonmark": (
        "# Beams {#beams}\n\n~~Text.~~[^1]\n{:.note}\n\n[^1]: 2024 began.\n",
        [h(1, "Beams"), p("Text."), p("2024 began.")],
    ),
    "permalinks": (
        "# Beams[¶](#beams)\n\n## Hooks ¶\n\n## [Arms](#arms)\n\n[#](http://e) of [1](#n)\n",
        [h(1, "Beams"), h(2, "Hooks"), h(2, "Arms"), p("# of 1")],
    ),
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
        [table(("A", "B", ""), ("1", "2", "3"), ("1", "4", "5"))],
    ),
    "frame-with-its-page": (
        "<p>Gates</p><iframe title='a' srcdoc=\"<!doctype html><html><head><title>x</title></head>"
        '<body><p>Gate B4 &amp;lt; &quot;17:20&quot;</p></body></html>"></iframe><p>Fares</p>',
        [p("Gates"), p('Gate B4 < "17:20"'), p("Fares")],
    ),
    "typed-and-chosen": (
        "<select><option>Oslo<option selected>Bergen</select><textarea>Ring twice.</textarea>",
        [p("Oslo Bergen"), p("Ring twice.")],
    ),
    "drawing": (
        "<p>Flow <svg><title>icon</title><text>Melt &lt; 5</text><foreignObject><div>Cast</div>"
        "</foreignObject></svg> <svg><title>icon</title></svg></p>",
        [p("Flow Melt < 5 Cast")],
    ),
    "layout-table": (
        "<table><tr><td><h2>Left</h2><p>Text.</p></td><td><p>Right.</p></td></tr></table>",
        [h(2, "Left"), p("Text."), p("Right.")],
    ),
    "one-column": (
        "<table><tr><th>Model</th></tr><tr><td>K-12</td></tr></table>",
        [table(("Model",), ("K-12",))],
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
    "raised": (
        "<p>x<sup>n+1</sup> 10<sup>−6</sup> 2<sup>nd</sup> A<sup>TM</sup> me<sup>[3]</sup> "
        "Weigher<sup>a</sup> XIX<sup>e</sup></p>",
        [p("xⁿ⁺¹ 10⁻⁶ 2nd A™ me³ Weigher^a XIXe")],
    ),
    "permalinks": (
        "<h1>A<a class=headerlink href=#a>¶</a></h1><h2>B <a href='http://e/b#b'>🔗</a></h2>"
        "<h3><a class=hash-link href=#c>\u200b</a>C#<a class=anchor href=#c><svg></svg></a></h3>"
        "<h4><a href=#d>D</a> <a href=http://e/12#c>#12</a></h4>"
        "<dl><dt>f()<a class=headerlink href=#f>#</a></dt><dd>Folds.</dd></dl>",
        [
            *(h(1, "A"), h(2, "B"), h(3, "C#"), h(4, "D #12")),
            *define("f()", li(0, "f(): Folds.")),
        ],
    ),
    "note-numbers": (
        "<p>A <a class='footnote-reference brackets' href=#n>15</a></p><aside class=footnote>"
        "<span class=label><span class=fn-bracket>[</span><a role=doc-backlink href=#i>15</a>"
        "<span class=fn-bracket>]</span></span><p>2024 began.</p></aside>"
        "<dl><dt><a class=fn-backref href=#i>16</a></dt><dd><p>3 hooks.</p></dd></dl>"
        "<ol><li><div><p>5 beams. <a href=#i>↩︎</a></p></div></li></ol>",
        [p("A ¹⁵"), p("2024 began."), li(0, "3 hooks."), li(0, "1. 5 beams.")],
    ),
    "term-with-a-colon": (
        "<dl><dt>100-999:</dt><dd>Free.</dd></dl>",
        [li(0, "100-999: Free.")],
    ),
    "head-of-two-rows": (
        "<table><caption>Sizes</caption><tbody><tr><th rowspan='2'>A</th><th colspan=2>B</th></tr>"
        "<tr><th>w</th><th>h</th></tr><tr><td>1</td><td>2</td><td>3</td></tr></tbody></table>",
        [p("Sizes"), table(("A", "B w", "B h"), ("1", "2", "3"))],
    ),
    "head-that-spans-rows-of-text": (
        "<table><tr><th rowspan=2>A</th><th>B</th></tr><tr><td>w</td></tr></table>",
        [table(("A", "B"), ("A", "w"))],
    ),
    "no-head": (
        "<table><tr><td>(i)</td><td>Rink</td></tr><tr><td>(ii)</td><td>Run</td></tr></table>",
        [table(("(i)", "Rink"), ("(ii)", "Run"), header=False)],
    ),
    "spanning-row-names": (
        "<table><tr><th rowspan=2>A</th><td>1</td></tr><tr><td>2</td></tr></table>",
        [table(("A", "1"), ("A", "2"), header=False)],
    ),
    "row-names-in-two-columns": (
        "<table><tr><th>Site</th><th>Line</th><th>Bar</th></tr>"
        "<tr><th rowspan=3>Oslo</th><th rowspan=2>East</th><td>4</td></tr><tr><td>5</td></tr>"
        "<tr><th>West</th><td>6</td></tr><tr><th>Bergen</th><th>Quay</th><td>7</td></tr></table>",
        [
            table(
                ("Site", "Line", "Bar"),
                *(("Oslo", "East", "4"), ("Oslo", "East", "5"), ("Oslo", "West", "6")),
                ("Bergen", "Quay", "7"),
            )
        ],
    ),
    "a-value-of-several-rows": (
        "<table><tr><th>Part</th><th>Name</th><th>Steel</th></tr><tr><td>P-1</td><td>arm</td>"
        "<td rowspan=2>S235</td></tr><tr><td>P-11</td><td>hook</td></tr></table>",
        [table(("Part", "Name", "Steel"), ("P-1", "arm", "S235"), ("P-11", "hook", "S235"))],
    ),
    "broken": ("<p>one<div>two</p></span><b>three", [p("one"), p("two"), p("three")]),
    "heading-before-the-main-part": (
        "<h1>Acme</h1><header><h1>Tides <i>rise</i></h1></header><div class=a role=main><p>Text.",
        [h(1, "Tides rise"), p("Text.")],
    ),
    "heading-in-the-main-part": (
        "<h1>Acme</h1><main><p>Home</p><h1>Tides</h1></main>",
        [p("Home"), h(1, "Tides")],
    ),
    "pictures-in-text": (
        "<p>Pay <a href=/x><img src=a.png alt='Icon cart'>Basket</a><img src=b.png alt=two>three, "
        "<img src=c.png alt=x>, end<a href='//f.b/s?u=1%20in'><i class=f></i></a>",
        [p("Pay Icon cart Basket two three, x, end")],
    ),
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
    ("head", "title"),
    [
        ("<title>Tuning — Beams 5.2 documentation</title>", "Tuning"),
        ("<title>Hooks - Beams</title><meta property=og:site_name content='Beams'>", "Hooks"),
        ("<title>Beams: Hooks</title><meta content='Beams' property='og:site_name'>", "Hooks"),
        ("<title>Hooks - a history</title>", "Hooks - a history"),
        ("<title>Tuning: a history</title>", "Tuning: a history"),
        ("<title>Tuning-fork</title>", "Tuning-fork"),
        ("<title>Beams</title><meta property=og:site_name content=Beams>", "Beams"),
    ],
)
def test_a_title_goes_without_the_name_of_its_site(parse: Parse, head: str, title: str) -> None:
    page = f"<head>{head}</head><div><h1>Tuning<a href=#t>¶</a></h1></div><p>Text.</p>"
    assert parse(page, "a.html").title == title


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<nav>Home</nav><p>A beam.</p><NAV class=x><ul><li>On</ul></NAV>", ["A beam."]),
        ("<main><nav>Contents</nav><p>A beam.</p></main>", ["A beam."]),
        ("<head><title>Index</title></head><nav><p>Beams</p></nav>", ["Beams"]),
        ("<p>A beam.</p><nav><p>not closed", ["A beam.", "not closed"]),
        ("<p>A beam.</p><navy>blue</navy>", ["A beam.", "blue"]),
        ("<div><div role=navigation><p>Home</p></div><p>A beam.</p></div>", ["A beam."]),
        ("<div id=onetrust-consent-sdk>OK?</div><p>A beam.</p>", ["A beam."]),
        ("<div class='cookie-banner x'><p>OK?</p></div><p>A beam.</p>", ["A beam."]),
        ("<div class=cookies><p>Butter.</p></div><p>A beam.</p>", ["Butter.", "A beam."]),
        ("<div class=cookie-notice><p>We use them.</p></div>", ["We use them."]),
        ("<h2>Beams<span class=mw-editsection>[<a href=/e>edit</a>]</span></h2>", ["Beams"]),
        (  # Texinfo
            "<div class=header><p>Next: <a href=b accesskey=n rel=next>Weights</a>, Previous: "
            "<a href=a accesskey=p>Hooks</a> [<a href=i>Index</a>]</p></div><p>A beam.</p>",
            ["A beam."],
        ),
        (  # DocBook
            "<div class=navheader><table><tr><th colspan=3>Chapter 4. Beams</th></tr><tr><td>"
            "<a accesskey=p href=a>Prev</a></td><th>Book of scales</th><td><a accesskey=n href=b>"
            "Next</a></td></tr></table></div><p>A beam.</p>",
            ["A beam."],
        ),
        (  # Doxygen, Javadoc, contents
            "<div id=nav-path><ul><li><a href=.>Home</a></li></ul></div><div class=topNav><p>"
            "<a href=i>Index</a></p></div><div class=toc><p><b>Contents</b></p><ul><li>"
            "<a href=#a>Beams and what they bear</a></li></ul></div><p>A beam bears two pans and "
            "a poise that slides along it, until all is level.</p>",
            ["A beam bears two pans and a poise that slides along it, until all is level."],
        ),
        # A page that is contents; a way to the next page in a sentence; a menu that is no links.
        (
            "<h1>Scales</h1><div class=toc><p><a href=b>Beams</a></p><p>"
            "<a href=p>Pans</a></p></div>",
            ["Scales", "Beams", "Pans"],
        ),
        (
            "<p>How a poise is weighed, and when, is in the <a rel=next href=b>next chapter</a>."
            "</p>",
            ["How a poise is weighed, and when, is in the next chapter."],
        ),
        (
            "<div class=menu><p>Soup</p></div><p>A beam, and a pan.</p>",
            ["Soup", "A beam, and a pan."],
        ),
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
    stated = [li(0, "authors: Ada, Ben"), li(0, "date: 2024-05-01")]
    assert list(document.blocks) == [*stated, h(1, "Beams"), p("Text.")]
    stated = (document.title, document.author, document.created)
    assert stated == ("On beams", "Ada, Ben", "2024-05-01")
    (block,) = parse("+++\nno toml at all\n+++\n", "a.md").blocks
    assert "no toml at all" in block.text


@pytest.mark.parametrize(
    ("front", "texts"),
    [
        (
            '+++\nstate = "Größe \U0001f600"\nratio = 1.50\n+++\n',
            ["ratio: 1.50", "state: Größe \U0001f600"],
        ),
        ("---\nversion: 1.10\nnumber: 007\n---\n", ["number: 007", "version: 1.10"]),
        ("---\n\nversion: 1.10\n\n---\n", ["version: 1.10"]),
        (
            "---\nby: TCP/IP\nday: 1/2/24\nicon: /a\nimage: a/b.png\nurls: [http://x/y]\n---\n",
            ["by: TCP/IP", "day: 1/2/24"],
        ),
        (f"---\nfiles: {'a/b/c/d ' * 60}end\n---\n", [f"files: {'a/b/c/d ' * 60}end"]),
    ],
    ids=["signs beyond the BMP", "numbers", "lines across the page", "slashes", "many slashes"],
)
def test_values_of_front_matter_are_as_written(parse: Parse, front: str, texts: list[str]) -> None:
    document = parse(f"{front}\nText.\n", "a.md", cpu_seconds=20)
    assert [block.text for block in document.blocks] == [*texts, "Text."]


def test_front_matter_is_text_but_for_what_programs_read(parse: Parse) -> None:
    front = "record: 7\ntitle: On beams\nlayout: default\nstatus: Final\ntags: [oak, lead]\nnote:\n"
    document = parse(f"---\n{front}---\n\nText.\n", "a.md")
    stated = [li(0, text) for text in ("record: 7", "status: Final", "tags: oak, lead")]
    assert list(document.blocks) == [*stated, p("Text.")]


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


STEPS = """. Close the valve.
+
image::valve.png[Handle]

. Open the drain.
+
----
+

. no step
----

* Inner.
+
--strictly

. Lift it.
+
NOTE: Gloves.

Then wait.

. Begin.
"""


def test_steps_of_asciidoc_keep_their_numbers(parse: Parse) -> None:
    assert list(parse(STEPS, "a.adoc").blocks) == [
        li(0, "1. Close the valve."), p("[Handle]"),
        li(0, "2. Open the drain."), code("+\n\n. no step"), li(1, "Inner."), p("--strictly"),
        li(0, "3. Lift it."), p("Note: Gloves."),
        p("Then wait."), li(0, "1. Begin."),
    ]  # fmt: skip


def test_org_that_pandoc_cannot_read_is_read_as_text(parse: Parse) -> None:
    document = parse("The share is C: \\\n\nNext.\n", "a.org")
    assert list(document.blocks) == [p("The share is C: \\"), p("Next.")]
    assert document.warnings[0].startswith("Read as plain text")


@pytest.mark.parametrize(
    ("text", "file_name"),
    [
        ("Text.\n\ninclude::parts/one.adoc[]\n", "a.adoc"),
        ("Text.\n\n#+INCLUDE: parts/one.adoc\n", "a.org"),
        ("Text.\n\n.. include:: parts/one.adoc\n", "a.rst"),
        ("Text.\n\n.. csv-table:: T\n   :file: parts/one.adoc\n", "a.rst"),
        ("Text.\n\n\\input{parts/one.adoc}\n% \\input{other}\n", "a.tex"),
    ],
)
def test_an_included_file_is_named(parse: Parse, text: str, file_name: str) -> None:
    document = parse(text, file_name)
    assert list(document.blocks) == [p("Text.")]
    (gap,) = document.completeness.losses
    assert (gap.why, gap.count, gap.places) == (Why.LINK, 1, ("parts/one.adoc",))
    assert document.completeness.missing == 0.5


MAN_PAGE = """\
.\\" Copyright
.TH WEIGH 1 2026-03-02 "beam 2.4" "User Commands"
.SH NAME
weigh \\- weigh a parcel
.SH OPTIONS
.TP
.BR \\-q ", " \\-\\-quiet
Print nothing but errors.
.SH "EXIT STATUS"
.TP
.B 4
The scale did not reply.
"""


def test_a_page_of_man(parse: Parse) -> None:
    """Its extension is its chapter, as that of a rotated log is a number, which has no `.TH`."""
    document = parse(MAN_PAGE, "weigh.1")
    assert document.title == "WEIGH"
    assert [block.text for block in document.blocks] == [
        "date: 2026-03-02", "footer: beam 2.4", "header: User Commands", "section: 1",
        "NAME", "weigh - weigh a parcel", "OPTIONS",
        "-q, --quiet: Print nothing but errors.", "EXIT STATUS", "4: The scale did not reply.",
    ]  # fmt: skip
    with pytest.raises(UnsupportedType):
        sniff(b"2026-03-02 started\n", "beam.log.1")
