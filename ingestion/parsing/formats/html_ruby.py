"""Readings of words in HTML (`<ruby>`), which pandoc joins to the words."""

from __future__ import annotations

import html
import re

from ingestion.parsing.formats.asides import reading_mark

_RUBY = re.compile(r"<ruby\b[^<>]*>(.*?)</ruby\s*>", re.DOTALL | re.IGNORECASE)
_PARENTHESIS = re.compile(r"<rp\b[^<>]*>[^<]*(?:</rp\s*>)?", re.IGNORECASE)
# The end of a reading may be left out.
_PAIR = re.compile(
    r"(.*?)<rt\b[^<>]*>(.*?)(?:</rt\s*>|(?=<r(?:b|t|tc)\b)|$)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]*>")


def with_marked_readings(page: str) -> str:
    """The page with its words and their readings as marked text (`asides`)."""

    def ruby(match: re.Match[str]) -> str:
        return _PAIR.sub(_pair, _PARENTHESIS.sub("", match[1]))

    return _RUBY.sub(ruby, page) if "<ruby" in page.lower() else page


def _pair(match: re.Match[str]) -> str:
    words, reading = (
        " ".join(html.unescape(_TAG.sub("", each)).split()) for each in match.groups()
    )
    return html.escape(reading_mark(words, reading), quote=False)
