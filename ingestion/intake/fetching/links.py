"""What a page says of itself and of others: its links, and whether robots may use them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ingestion.intake.fetching.errors import AddressRefused
from ingestion.intake.fetching.guard import Target, read_target

# Further in, no page that people wrote has its first links.
_READ_CHARS = 4_000_000
MAX_LINKS = 5_000

_HIDDEN = re.compile(r"<(script|style|textarea|title|noscript)\b", re.IGNORECASE)
_TAG = re.compile(r"<(a|area|base|meta)\s([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"([a-z][a-z-]{0,30})\s{0,20}=\s{0,20}(?:\"([^\"]{0,2000})\"|'([^']{0,2000})'|([^\s\"'<>]{1,2000}))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page's links in their order, each once; and what its author lets robots do."""

    links: tuple[str, ...] = ()
    may_index: bool = True
    may_follow: bool = True


def read_page(text: str, url: str, headers: Mapping[str, str], agent: str) -> Page:
    """The page of HTML at `url`. Nothing of it is rendered, run or fetched.

    Patterns with bounds, not a tree: a page that is meant to hurt costs no more than its length.
    """
    shown = _without_hidden(text[:_READ_CHARS])
    directives = set(_header_directives(headers.get("x-robots-tag", ""), agent))
    base, links = url, dict[str, None]()
    for name, attributes in _tags(shown):
        if name == "meta" and attributes.get("name", "").lower() in ("robots", agent.lower()):
            directives |= _directives(attributes.get("content", ""))
        elif name == "base" and base == url:
            base = _joined(attributes.get("href", ""), url) or url
        elif name in ("a", "area") and len(links) < MAX_LINKS:
            relation = attributes.get("rel", "").lower().split()
            if "nofollow" not in relation and (href := attributes.get("href", "").strip()):
                links.setdefault(href)
    targets = dict.fromkeys(found for href in links if (found := _joined(href, base)))
    return Page(
        links=tuple(targets) if not directives & {"nofollow", "none"} else (),
        may_index=not directives & {"noindex", "none"},
        may_follow=not directives & {"nofollow", "none"},
    )


def _without_hidden(text: str) -> str:
    """The text without comments, scripts and what else shows tags that are none."""
    kept: list[str] = []
    place = 0
    while True:
        comment = text.find("<!--", place)
        hidden = _HIDDEN.search(text, place, comment if comment >= 0 else len(text))
        if hidden is not None:
            kept.append(text[place : hidden.start()])
            closing = re.compile(f"</{hidden[1]}", re.IGNORECASE).search(text, hidden.end())
            if closing is None:
                break
            place = closing.end()
        elif comment >= 0:
            kept.append(text[place:comment])
            end = text.find("-->", comment + 4)
            if end < 0:
                break
            place = end + 3
        else:
            kept.append(text[place:])
            break
    return "".join(kept)


def _tags(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for tag in _TAG.finditer(text):
        found: dict[str, str] = {}
        for name, *values in _ATTRIBUTE.findall(tag[2]):
            found.setdefault(name.lower(), html.unescape("".join(values)))
        yield tag[1].lower(), found


def _directives(content: str) -> set[str]:
    return {part.strip().lower() for part in content.split(",")}


def _header_directives(value: str, agent: str) -> Iterator[str]:
    """Those for all robots, and those for ours: "noindex" or "steelyard: noindex"."""
    for part in value.split(","):
        name, colon, directive = part.strip().lower().partition(":")
        if not colon:
            yield name
        elif name.strip() == agent.lower():
            yield directive.strip()


def _joined(href: str, base: str) -> str:
    """The address that a link means; empty for mail, scripts and what is no address."""
    try:
        target: Target = read_target(href, base)
    except AddressRefused:
        return ""
    return target.url
