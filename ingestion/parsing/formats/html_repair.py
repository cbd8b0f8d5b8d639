"""The source of a web page, rewritten where pandoc would leave text out or tear it."""

from __future__ import annotations

import html
import re

from ingestion.parsing.formats.asides import reading_mark
from ingestion.parsing.formats.pandoc_tree import strip_tags

# A tag with its attributes, which may contain tags.
_FRAME = re.compile(r"<iframe\s(?:[^\"'<>]|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)
_FRAMED = re.compile(r"\bsrcdoc\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_AROUND_A_BODY = re.compile(
    r"<head\b.*?</head\s*>|</?(?:html|body|!doctype)\b[^<>]*>", re.IGNORECASE | re.DOTALL
)
# Of a form: a text that was typed; fields and the choices of a list, where pandoc joins words.
_TYPED = re.compile(r"(?<=<)(/?)textarea\b", re.IGNORECASE)
_CHOICE = re.compile(r"(<(?:option|input|select)\b|</select\b)", re.IGNORECASE)
# What has no end is passed once, to the end of the page.
_DRAWING = re.compile(r"<svg\b.*?(</svg\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(
    r"<(text|foreignObject)\b[^<>]*>(.*?)(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_RUBY = re.compile(r"<ruby\b[^<>]*>(.*?)(?:</ruby\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_PARENTHESIS = re.compile(r"<rp\b[^<>]*>[^<]*(?:</rp\s*>)?", re.IGNORECASE)
_READING = re.compile(r"<rt\b[^<>]*>", re.IGNORECASE)
_READING_END = re.compile(r"</rt\s*>|(?=<r(?:b|t|tc)\b)", re.IGNORECASE)  # may be left out
_TAG = re.compile(r"<[^<>]*>")
# Where a page has one of these, pandoc reads nothing else.
_MAIN = re.compile(r"<(?:main\b|\w+\s[^<>]*\brole\s*=\s*[\"']?main\b)[^<>]*>", re.IGNORECASE)
_TOP_HEADING = re.compile(r"<h1\b[^<>]*>.{0,2000}?</h1\s*>", re.IGNORECASE | re.DOTALL)


def with_frames(page: str) -> str:
    """The page with the pages that stand in the `srcdoc` of its frames."""
    return _FRAME.sub(_content, page) if "srcdoc" in page.lower() else page


def _content(frame: re.Match[str]) -> str:
    if not (framed := _FRAMED.search(frame[0])):
        return frame[0]
    return f"<div>{_AROUND_A_BODY.sub('', html.unescape(framed[1] or framed[2] or ''))}</div>"


def _with_heading(page: str) -> str:
    """The page with the top heading that stands before its main part in that part."""
    main = _MAIN.search(page)
    headings = [*_TOP_HEADING.finditer(page, 0, main.start())] if main else []
    if main is None or not headings or _TOP_HEADING.search(page, main.end()):
        return page
    return page[: main.end()] + headings[-1][0] + page[main.end() :]


def repaired(page: str) -> str:
    """The page with the words of forms, of drawings and of readings (`asides`) as text."""
    page = _TYPED.sub(r"\1div", _with_heading(page))
    return _RUBY.sub(_readings, _DRAWING.sub(_labels, _CHOICE.sub(r" \1", page)))


def _labels(drawing: re.Match[str]) -> str:
    texts = (strip_tags(label[2]) for label in _LABEL.finditer(drawing[0]))
    words = " ".join(text for text in texts if text)
    return f" <span>{html.escape(words)}</span> " if words and drawing[1] else drawing[0]


def _readings(ruby: re.Match[str]) -> str:
    words, *pairs = _READING.split(_PARENTHESIS.sub("", ruby[1]))
    text = ""
    for pair in pairs:
        reading, *rest = _READING_END.split(pair, maxsplit=1)
        text += html.escape(reading_mark(_plain(words), _plain(reading)), quote=False)
        words = "".join(rest)
    return text + words


def _plain(source: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", source)).split())
