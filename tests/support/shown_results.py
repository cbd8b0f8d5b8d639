"""What a search shows: its titles, and what a page of results holds, out of its HTML."""

from __future__ import annotations

import re
from typing import Any

from search.pipeline import search


def titles(text: str, **options: Any) -> list[str]:
    """The titles that a visitor's search for this text finds, best first."""
    return [result.title for result in search(text, viewer=None, **options).results]


def results(html: str) -> list[str]:
    """The HTML of each result, in order."""
    return html.split('<li class="result">')[1:]


def documents(html: str) -> list[str]:
    """Of each result its document's title: above its heading, or the heading itself."""
    return [_first(r'class="crumb">([^<]*)<', one) or headings(one)[0] for one in results(html)]


def headings(html: str) -> list[str]:
    """The linked heading of each result."""
    return re.findall(r'class="result-link"[^>]*>([^<]*)<', html)


def text_of(html: str) -> str:
    """The text of HTML, its white space collapsed."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def _first(pattern: str, html: str) -> str:
    match = re.search(pattern, html)
    return match[1] if match else ""
