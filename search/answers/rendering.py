"""Answers as HTML and as Markdown with links.

An answer's text is written by a model or quoted from documents, and is trusted with nothing: raw
HTML is text, there are no images, and the only links are its citations (OWASP AISVS 7.3.7), so that
a document cannot make the answer of its reader call another site.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext
from markdown_it import MarkdownIt

from ingestion.documents.currency import date_label, label
from search.answers.as_json import passage_url
from search.answers.checking.conflicts import cited_conflicts
from search.answers.domain import NOT_SUPPORTED, Answered, Citation, Passage, Sentence, Verdict
from search.answers.question_forms import sides_of
from search.presentation.labels import page_label

# Brackets that hardly any text contains; Markdown treats them as punctuation, as it does `[1]`.
_OPEN, _CLOSE = "\u2e28", "\u2e29"
_PLAIN = str.maketrans({_OPEN: "(", _CLOSE: ")", "\x00": "\ufffd"})
_MARKER = re.compile(r"\[(\d{1,4})\]")
_TAG = re.compile(r"(<[^>]*>)")
# What begins a list item, a quotation, a heading or a table's row.
_BLOCK = re.compile(r"(?:\s+|[-*+](?=\s)|\d{1,9}[.)](?=\s)|>|#{1,6}(?=\s)|\|)*")
_DEFINITION = re.compile(r"^([ \t>*+-]*\[[^\]]*\]):", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!~])")
# Includes the backslash of a quotation, which would escape the entity in its place.
_ANGLE = re.compile(r"\\?<")
_FENCE = re.compile(r"`{3}|~{3}")

_TAGS = {
    "p", "br", "hr", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "h3",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
# Longer texts are shown without Markdown: no reader needs it, and parsing takes seconds.
MOST_CHARS = 100_000


def answer_html(answered: Answered, *, prefix: str) -> SafeString:
    """An answer's text as safe HTML, with its citations as links to `#<prefix>-source-<number>`.

    The first reason follows a sentence that its sources do not support. Quoted pieces have the name
    of their section as a link to it in place of a citation; all but the first are folded, of a
    comparison and of sources that disagree all but the first two.
    """
    parser = _markdown() if len(answered.text) <= MOST_CHARS else _paragraphs()
    nonce = secrets.token_hex(8)  # so that no text, such as one with entities, can hold a sign
    safe = _safe(parser, _signed(answered, nonce))
    safe = safe if answered.model else _named(safe, answered, nonce)
    html = "".join(_dressed(safe, answered, prefix, nonce))
    most = 2 if has_two_sides(answered) else 1
    return mark_safe(html if answered.model else _folded(html, most))  # noqa: S308  # sanitised


def has_two_sides(answered: Answered) -> bool:
    """Whether an answer compares two things, or two of its sources disagree."""
    return bool(sides_of(answered.searched_for) or cited_conflicts(answered))


def _named(html: str, answered: Answered, nonce: str) -> str:
    """Sanitised HTML of quoted pieces, the heading of each a link to its section, with the
    number and document of its source, which notes name.
    """

    def link(match: re.Match[str]) -> str:
        passage = answered.context.passage(int(match[2]))
        if passage is None:
            return f"<h3>{match[1]}</h3>"
        name = mark_safe(match[1])  # noqa: S308  # sanitised
        page = page_label(passage.page, passage.media_type)
        names = (passage.title, page, date_label(passage.date))
        place = " · ".join(each for each in names if each and escape(each) != match[1])
        html = '<h3><a href="{}">{}</a> <small><span class="cite">{}</span> {}</small></h3>'
        return format_html(html, passage_url(passage), name, passage.number, place)

    return re.sub(rf"<h3>(.*?) ?{_OPEN}{nonce}c(\d+)[.\d]*{_CLOSE}</h3>", link, html)


def _folded(html: str, most: int) -> str:
    """The pieces, which begin with the names of their sections, with all but `most` folded."""
    lead, *pieces = re.split("(?=<h3>)", html)
    sections = [f'<section class="piece">{piece}</section>' for piece in pieces]
    first, others = "".join(sections[:most]), sections[most:]
    if not others:
        return lead + first
    text = ngettext("%(count)d further passage", "%(count)d further passages", len(others))
    summary = format_html("<summary>{}</summary>", text % {"count": len(others)})
    return f'{lead}{first}<details class="further">{summary}{"".join(others)}</details>'


def passage_html(passage: Passage, citations: Iterable[Citation]) -> SafeString:
    """A passage's text with its cited words marked; overlapping citations share a mark."""
    length = len(passage.text)
    spans = sorted(
        (min(each.start, length), min(each.end, length))
        for each in citations
        if each.passage == passage.number and each.start < min(each.end, length)
    )
    pieces, at = [], 0
    while spans:
        start, end = spans.pop(0)
        while spans and spans[0][0] <= end:
            end = max(end, spans.pop(0)[1])
        pieces += [
            format_html("{}", passage.text[at:start]),
            format_html(
                '<mark class="quoted" data-start="{}" data-end="{}">{}</mark>',
                start, end, passage.text[start:end],
            ),
        ]  # fmt: skip
        at = end
    pieces.append(format_html("{}", passage.text[at:]))
    return mark_safe("".join(pieces))  # noqa: S308  # each piece is escaped


def linked_markdown(answered: Answered, address: Callable[[str], str]) -> str:
    """The answer as Markdown for other programs: each citation is a link, the sources follow.

    `address` makes a complete address of a path.
    """
    lines = [_linked_text(answered, address)]
    if answered.cited_passages:
        lines += ["", gettext("Sources:"), ""]
    for passage in answered.cited_passages:
        names = " › ".join(map(plain_line, (passage.title, *passage.heading_path)))
        page = page_label(passage.page, passage.media_type)
        url = address(passage_url(passage))
        lines.append(
            f"- \\[{passage.number}\\] [{names}]({url}){f', {page}' if page else ''}{_age(passage)}"
        )
    return "\n".join(lines) + "\n"


def _age(passage: Passage) -> str:
    """The date of a passage's document in brackets, and whether it is not current; or empty."""
    texts = filter(None, (date_label(passage.date), label(passage.currency)))
    about = plain_line("; ".join(texts))
    return f" ({about})" if about else ""


def _linked_text(answered: Answered, address: Callable[[str], str]) -> str:
    """The answer's text as Markdown, each citation a link; `address` is as above."""

    def link(match: re.Match[str]) -> str:
        passage = answered.context.passage(int(match[1]))
        if passage is None:
            return match[0]
        return f"[\\[{passage.number}\\]]({address(passage_url(passage))})"

    return _MARKER.sub(link, _harmless(answered.text))


def _harmless(text: str) -> str:
    """Markdown that loads nothing and links nowhere, whatever program renders it.

    Uses entities, because a backslash could itself be escaped by one in the text.
    """
    text = _ANGLE.sub("&lt;", text).replace("![", "&#33;[").replace("](", "]&#40;")
    return _DEFINITION.sub(r"\1&#58;", text)


def plain_line(text: str) -> str:
    """The text on one line, with Markdown's characters escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _safe(parser: MarkdownIt, text: str) -> str:
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3"  # the page has its own headings above
    html = parser.renderer.render(tokens, parser.options, {})
    return nh3.clean(
        html, tags=_TAGS, attributes={"ol": {"start"}}, url_schemes=set(), link_rel=None
    )


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False})
    parser.enable(["table", "strikethrough"])
    off = "link image autolink reference html_block html_inline lheading"
    return parser.disable(off.split())


@cache
def _paragraphs() -> MarkdownIt:
    return MarkdownIt("zero").enable("escape")


def _signed(answered: Answered, nonce: str) -> str:
    """The text with a sign for each citation, at both ends of each unsupported sentence, and at
    the end of each that is not verified.
    """
    sign_of = f"{_OPEN}{nonce}{{}}{_CLOSE}".format
    text = answered.text.translate(_PLAIN)
    numbers = {each.number for each in answered.context.passages}
    signs: list[tuple[int, int, str]] = []  # start, end, replacement
    for match in _MARKER.finditer(text):
        if int(match[1]) in numbers:
            cited = _citation(answered.sentences, int(match[1]), match.start())
            sign = sign_of(f"c{cited.passage}.{cited.start}.{cited.end}")
            signs.append((match.start(), match.end(), sign))
    for place, sentence in enumerate(answered.sentences):
        if sentence.verdict not in NOT_SUPPORTED:
            continue
        begins = _BLOCK.match(text, sentence.start, sentence.end)
        start = begins.end() if begins else sentence.start
        end = sentence.start + len(text[sentence.start : sentence.end].rstrip())
        if start < end and not _FENCE.match(text, start):
            if sentence.verdict is Verdict.UNSUPPORTED:
                signs.append((start, start, sign_of(f"u{place}")))
            signs.append((end, end, sign_of(f"/{place}")))
    pieces, at = [], 0
    for start, end, sign in sorted(signs, key=lambda each: (each[0], each[1])):
        pieces += [text[at:start], sign]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _citation(sentences: Iterable[Sentence], number: int, at: int) -> Citation:
    """The citation of the marker at offset `at`; of the whole passage if no sentence has words of
    it.
    """
    for sentence in sentences:
        if sentence.start <= at < sentence.end:
            for citation in sentence.citations:
                if citation.passage == number:
                    return citation
    return Citation(number)


def _dressed(html: str, answered: Answered, prefix: str, nonce: str) -> Iterator[str]:
    """Sanitised HTML with its signs replaced. Only text nodes are wrapped, so that tags stay
    nested.
    """
    signs = re.compile(f"{_OPEN}{nonce}([cu/])([0-9.]*){_CLOSE}")
    code = 0
    open_at: int | None = None
    waiting: list[str] = []
    for piece in _TAG.split(html):
        if piece.startswith("<"):
            code += {"<code>": 1, "</code>": -1}.get(piece, 0)
            yield piece
            continue
        if not code:
            yield from waiting
            waiting.clear()
        at = 0
        for sign in signs.finditer(piece):
            yield _wrapped(piece[at : sign.start()], is_doubted=open_at is not None)
            at = sign.end()
            kind, value = sign[1], sign[2]
            if kind == "c":
                citation = Citation(*map(int, value.split(".")))
                yield f"[{citation.passage}]" if code else _chip(citation, answered, prefix)
            elif kind == "u":
                open_at = int(value)
            else:
                open_at = None
                waiting.append(_reason(answered.sentences[int(value)]))
                if not code:
                    yield waiting.pop()
        yield _wrapped(piece[at:], is_doubted=open_at is not None)
    yield from waiting


def _wrapped(text: str, *, is_doubted: bool) -> str:
    words = text.strip()
    if not is_doubted or not re.search(r"\w", words):
        return text
    return text.replace(words, f'<span class="doubted">{words}</span>', 1)


def _chip(citation: Citation, answered: Answered, prefix: str) -> str:
    passage = answered.context.passage(citation.passage)
    title = passage.title if passage else ""
    label = gettext("Source %(number)d: %(title)s") % {"number": citation.passage, "title": title}
    return format_html(
        '<a class="cite" href="#{}-source-{}" data-source="{}" data-start="{}" data-end="{}" '
        'title="{}" aria-label="{}">{}</a>',
        prefix, citation.passage, citation.passage, citation.start, citation.end,
        title, label, citation.passage,
    )  # fmt: skip


def _reason(sentence: Sentence) -> str:
    """The mark after a sentence; a pointer or the keyboard opens its reasons."""
    is_quiet = sentence.verdict is Verdict.UNVERIFIED
    name, mark = "unverified", gettext("not verified")
    if not is_quiet:
        name, mark = "doubt", gettext("not supported")
    why = " ".join(sentence.reasons) or gettext("The cited passages do not say this.")
    return format_html(
        ' <span class="{}" role="note" tabindex="0" data-why="{}" aria-label="{}: {}">{}</span>',
        name, why, mark, why, mark,
    )  # fmt: skip
