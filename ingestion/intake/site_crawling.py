"""Crawling a site: its robots.txt (RFC 9309), its sitemaps, the links of its pages."""

from __future__ import annotations

import gzip
import html
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import IO
from xml.parsers import expat

from protego import Protego

from ingestion.errors import AddressRefused, FetchError, RetryLater, RobotsRefused
from ingestion.intake.url_fetching import Policy, fetch
from ingestion.intake.url_guard import Target, read_target
from ingestion.intake.url_transport import MIB, counted

# RFC 9309 requires at least 500 kB; the rest is ignored.
_LARGEST = MIB
# With longer delays a crawl would never finish.
LONGEST_DELAY = 60.0
# The protocol's limit per sitemap; an index lists further ones.
MAX_ADDRESSES = 50_000
_BLOCK_BYTES = 64 * 1024
_LONGEST = 4_000
_DEEPEST = 20
_GZIP_START = b"\x1f\x8b"
# Real pages have their links before this.
_READ_CHARS = 4_000_000
MAX_LINKS = 5_000

# Comments, scripts and other elements whose tags do not count.
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|title|noscript)\b.*?(?:</\1|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"<(a|area|base|meta)\s([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"([a-z][a-z-]{0,30})\s{0,20}=\s{0,20}(?:\"([^\"]{0,2000})\"|'([^']{0,2000})'|([^\s\"'<>]{1,2000}))",
    re.IGNORECASE,
)


class Robots:
    """The rules of each host's robots.txt, read once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = replace(policy, size=min(policy.size, _LARGEST))
        self._rules: dict[str, Protego | None] = {}

    def check(self, target: Target) -> None:
        """Raise RobotsRefused if robots.txt disallows it, RetryLater if its server fails."""
        rules = self._of(target)
        if rules is not None and not rules.can_fetch(target.url, self._policy.agent):
            raise RobotsRefused(f"The robots.txt of {target.host} disallows this address.")

    def delay(self, target: Target) -> float:
        """The crawl delay in seconds; 0 if the site states none."""
        rules = self._of(target)
        crawl_delay = rules.crawl_delay(self._policy.agent) if rules is not None else None
        return min(max(float(crawl_delay or 0), 0.0), LONGEST_DELAY)

    def sitemaps(self, target: Target) -> list[str]:
        """The sitemaps listed in robots.txt."""
        rules = self._of(target)
        return list(rules.sitemaps) if rules is not None else []

    def _of(self, target: Target) -> Protego | None:
        """The rules of a host; None if it has none, so that everything may be fetched."""
        if target.origin not in self._rules:
            self._rules[target.origin] = self._read(target)
        return self._rules[target.origin]

    def _read(self, target: Target) -> Protego | None:
        place = read_target("/robots.txt", target.url)
        try:
            with fetch(place, self._policy) as answer:
                return Protego.parse(answer.file.read().decode("utf-8", "replace"))
        except (RetryLater, AddressRefused):
            # RFC 9309: while robots.txt returns server errors, nothing may be fetched.
            raise
        except FetchError:
            return None


@dataclass(frozen=True, slots=True)
class Sitemap:
    """Addresses of pages or, in an index, of further sitemaps."""

    addresses: tuple[str, ...]
    is_index: bool = False


def read_sitemap(file: IO[bytes], url: str, limit: int) -> Sitemap:
    """The sitemap in `file` (XML, plain lines, gzip), unpacked to at most `limit` bytes.

    XML entities are refused. Raises FetchError.
    """
    is_packed = file.read(len(_GZIP_START)) == _GZIP_START
    file.seek(0)
    plain = gzip.GzipFile(fileobj=file, mode="rb") if is_packed else file
    try:
        head = plain.read(512)
        plain.seek(0)
        parts = counted(iter(lambda: plain.read(_BLOCK_BYTES), b""), limit)
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            return _Reader(url).read(parts)
        text = b"".join(parts).decode("utf-8", "replace")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FetchError("The sitemap's compression is damaged. Tell its owner.") from error
    return Sitemap(tuple(_addresses(text.splitlines(), url)))


def _addresses(texts: list[str], url: str) -> Iterator[str]:
    """Each address once, without those that may not be fetched."""
    seen: set[str] = set()
    for text in texts[:MAX_ADDRESSES]:
        try:
            address = read_target(text, url).url if text.strip() else ""
        except AddressRefused:
            continue
        if address and address not in seen:
            seen.add(address)
            yield address


class _Reader:
    """Collects the text of each <loc> of an XML sitemap."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._root = ""
        self._open: list[str] = []
        self._text: list[str] = []
        self._locations: list[str] = []
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse

    def read(self, parts: Iterator[bytes]) -> Sitemap:
        try:
            for part in parts:
                self._parser.Parse(part, False)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise FetchError(f"The sitemap is not well-formed XML: {error}.") from error
        if self._root not in ("urlset", "sitemapindex"):
            raise FetchError(
                "Not a sitemap: unexpected XML root element. Look for the sitemap's address in "
                "the site's robots.txt."
            )
        is_index = self._root == "sitemapindex"
        return Sitemap(tuple(_addresses(self._locations, self._url)), is_index=is_index)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        self._root = self._root or local
        self._open.append(local)
        self._text.clear()
        if len(self._open) > _DEEPEST:
            raise FetchError("The sitemap is nested too deeply.")

    def _end(self, name: str) -> None:
        # <image:loc> is one level lower and not a page.
        is_page = self._open[-1:] == ["loc"] and len(self._open) == 3
        if is_page and len(self._locations) < MAX_ADDRESSES:
            self._locations.append("".join(self._text).strip())
        self._open.pop()

    def _characters(self, text: str) -> None:
        if self._open[-1:] == ["loc"] and len(self._text) < _LONGEST:
            self._text.append(text[:_LONGEST])

    def _refuse(self, *declaration: object) -> None:
        raise FetchError("The sitemap declares XML entities, which are not supported.")


@dataclass(frozen=True, slots=True)
class CrawledPage:
    """A page's links in order, each once, and its directives for robots."""

    links: tuple[str, ...] = ()
    may_index: bool = True


def read_page(text: str, url: str, headers: Mapping[str, str], agent: str) -> CrawledPage:
    """The HTML page at `url`. Nothing is rendered, executed or fetched.

    By bounded patterns, not a parse tree: the cost of a hostile page is linear in its length.
    """
    visible = _HIDDEN.sub("", text[:_READ_CHARS])
    directives = set(_header_directives(headers.get("x-robots-tag", ""), agent))
    base, links = url, dict[str, None]()
    for name, attributes in _tags(visible):
        if name == "meta" and attributes.get("name", "").lower() in ("robots", agent.lower()):
            directives |= _directives(attributes.get("content", ""))
        elif name == "base" and base == url:
            base = _joined(attributes.get("href", ""), url) or url
        elif name in ("a", "area") and len(links) < MAX_LINKS:
            relation = attributes.get("rel", "").lower().split()
            if "nofollow" not in relation and (href := attributes.get("href", "").strip()):
                links.setdefault(href)
    targets = dict.fromkeys(address for href in links if (address := _joined(href, base)))
    return CrawledPage(
        links=tuple(targets) if not directives & {"nofollow", "none"} else (),
        may_index=not directives & {"noindex", "none"},
    )


def _tags(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for tag in _TAG.finditer(text):
        tags: dict[str, str] = {}
        for name, *values in _ATTRIBUTE.findall(tag[2]):
            tags.setdefault(name.lower(), html.unescape("".join(values)))
        yield tag[1].lower(), tags


def _directives(content: str) -> set[str]:
    return {part.strip().lower() for part in content.split(",")}


def _header_directives(value: str, agent: str) -> Iterator[str]:
    """The directives for all robots, and for ours: "noindex" or "steelyard: noindex"."""
    for part in value.split(","):
        name, colon, directive = part.strip().lower().partition(":")
        if not colon:
            yield name
        elif name.strip() == agent.lower():
            yield directive.strip()


def _joined(href: str, base: str) -> str:
    """The absolute address of a link; empty for mail, scripts and invalid addresses."""
    try:
        target: Target = read_target(href, base)
    except AddressRefused:
        return ""
    return target.url
