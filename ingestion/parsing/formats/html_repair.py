"""The source of a web page, rewritten where pandoc would leave text out or tear it."""

from __future__ import annotations

import html
import re

from ingestion.parsing.formats.pandoc_tree import strip_tags

# A tag with its attributes, which may contain tags.
_FRAME = re.compile(r"<iframe\s(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)
_FRAMED = re.compile(r"\bsrcdoc\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_AROUND_A_BODY = re.compile(
    r"<head\b.*?</head\s*>|</?(?:html|body|!doctype)\b[^<>]*>", re.IGNORECASE | re.DOTALL
)
_DRAWING = re.compile(r"<svg\b.*?</svg\s*>", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(r"<(text|foreignObject)\b[^<>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
# Of a form: a text that was typed, and the choices of a list, which pandoc runs together.
_TYPED = re.compile(r"(?<=<)(/?)textarea\b", re.IGNORECASE)
_CHOICE = re.compile(r"(?=<option\b)", re.IGNORECASE)
# The classes that Pygments, Hugo, highlight.js and Prism give the numbers of a listing's lines.
_NUMBERS = r"\b[^<>]*\bclass\s*=\s*[\"']?[^<>\"']*\b(?:linenos?|lineno|lnt|lntd|hljs-ln-numbers)\b"
_LINE_NUMBER = re.compile(rf"<(span|a){_NUMBERS}[^<>]*>\s*\d+\s*</\1>", re.IGNORECASE)
_NUMBER_CELL = re.compile(
    rf"<td{_NUMBERS}[^<>]*>(?:[\s\d]|<(?!/?t[dr]\b)[^<>]*>)*</td>", re.IGNORECASE
)


def with_frames(text: str) -> str:
    """The page with the pages that stand in the `srcdoc` of its frames."""
    return _FRAME.sub(_content, text) if "srcdoc" in text.lower() else text


def _content(frame: re.Match[str]) -> str:
    framed = _FRAMED.search(frame[0])
    if framed is None:
        return frame[0]
    return f"<div>{_AROUND_A_BODY.sub('', html.unescape(framed[1] or framed[2] or ''))}</div>"


def with_labels(text: str) -> str:
    """The page with the words of its drawings in place of these, and those of its forms."""
    text = _CHOICE.sub(" ", _TYPED.sub(r"\1div", text))
    return _DRAWING.sub(_labels, text)


def _labels(drawing: re.Match[str]) -> str:
    texts = (strip_tags(label[2]) for label in _LABEL.finditer(drawing[0]))
    words = " ".join(text for text in texts if text)
    return f" <span>{html.escape(words)}</span> " if words else drawing[0]


def without_line_numbers(text: str) -> str:
    """The page without the numbers of the lines of its listings, which may be a column beside."""
    return _NUMBER_CELL.sub("", _LINE_NUMBER.sub("", text))
