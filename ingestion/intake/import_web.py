"""Imports from the web: a page, a page and its links, or the pages of a sitemap."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.message import Message
from functools import cached_property
from pathlib import PurePosixPath
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.utils.translation import gettext

from ingestion.errors import RefusedUpload, RobotsRefused, TypeMismatch
from ingestion.files import filetypes
from ingestion.files.filetypes import HEAD_BYTES, FileType, sniff
from ingestion.intake.import_protocol import (
    ImportRefused,
    ImportSource,
    ItemDraft,
    ItemFile,
    Skip,
)
from ingestion.intake.site_crawling import CrawledPage, Robots, read_page, read_sitemap
from ingestion.intake.url_fetching import Policy, fetch
from ingestion.intake.url_guard import Guard, Target, read_rules, read_target
from ingestion.models import Import, ImportItem, SourceKind
from ingestion.parsing.formats.markup import decode_html

MIB = 1024 * 1024
MAX_DEPTH = 10
FETCHED = "fetched"
"""The key in the metadata of a site's start page of the address that it was fetched from."""
DEFAULT_DEPTH = 1
DEFAULT_PAGES = 100
_MAX_SITEMAPS = 50
_READ_BYTES = 4 * MIB
_PAGE_NAMES = (".html", ".htm", ".xhtml")
_MAX_STEM = 150
_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{0,9}")
_BY_MEDIA_TYPE: dict[str, FileType] = {}
for _type in filetypes.SUPPORTED.values():
    _BY_MEDIA_TYPE.setdefault(_type.media_type, _type)
_BY_MEDIA_TYPE |= {
    "text/x-markdown": filetypes.MARKDOWN,
    "text/xml": filetypes.XML,
    "application/rss+xml": filetypes.XML,
    "application/atom+xml": filetypes.XML,
    "application/xhtml+xml": filetypes.HTML,
    "application/csv": filetypes.CSV,
}


def policy() -> Policy:
    """The fetch policy of the settings."""
    return Policy(
        guard=Guard(
            allow=read_rules(settings.URL_IMPORT_ALLOW),
            deny=read_rules(settings.URL_IMPORT_DENY),
            ports=frozenset(settings.URL_IMPORT_PORTS),
        ),
        seconds=settings.URL_IMPORT_SECONDS,
        size=settings.URL_IMPORT_MB * MIB,
        agent=settings.URL_IMPORT_AGENT,
    )


@dataclass(frozen=True, slots=True)
class WebOptions:
    """The options of a site import. `pages` limits the number of requested addresses."""

    depth: int = DEFAULT_DEPTH
    pages: int = DEFAULT_PAGES

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> WebOptions:
        """The options of an import. Raises ImportRefused for numbers out of range."""
        most = settings.URL_IMPORT_MAX_PAGES
        depth = _number(options, "depth", DEFAULT_DEPTH, 0, MAX_DEPTH)
        pages = _number(options, "max_pages", min(DEFAULT_PAGES, most), 1, most)
        return cls(depth, pages)


def _number(options: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = options.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ImportRefused(
            gettext("%(name)s must be a whole number from %(least)s to %(most)s.")
            % {"name": name, "least": least, "most": f"{most:,}"}
        )
    return value


class UrlSource(ImportSource):
    """One page. Named by a person, it is fetched without robots.txt, as by a browser."""

    @cached_property
    def _policy(self) -> Policy:
        return policy()

    def check(self) -> None:
        if not settings.URL_IMPORT:
            raise ImportRefused(
                gettext(
                    "Import from web addresses is disabled. An administrator can enable it with "
                    "URL_IMPORT=1."
                )
            )
        WebOptions.of(self.of.options)
        self._policy.guard.check(read_target(self.of.origin))

    def discover(self) -> Iterable[ItemDraft]:
        self.check()
        yield ItemDraft(read_target(self.of.origin).url)

    @contextmanager
    def take(self, item: ImportItem) -> Iterator[ItemFile]:
        if not settings.URL_IMPORT:
            raise ImportRefused(gettext("Import from web addresses has been disabled."))
        with ExitStack() as stack:
            yield self._open(stack, item)

    def _open(self, stack: ExitStack, item: ImportItem) -> ItemFile:
        target = read_target(item.reference)
        try:
            self._prepare(target)
            answer = stack.enter_context(
                fetch(target, self._policy, admit=lambda one: self._admit(one, item))
            )
        except RobotsRefused as refusal:
            raise Skip(str(refusal)) from refusal
        file = answer.file
        name = file_name(answer.url, answer.headers, file.read(HEAD_BYTES))
        file.seek(0)
        items = self._linked_items(item, answer.url, name, answer.headers, file)
        return ItemFile(file, name, source=target.url, source_kind=SourceKind.URL, items=items)

    def _prepare(self, target: Target) -> None:
        """Wait until the next request to the target's server is allowed."""

    def _admit(self, target: Target, item: ImportItem) -> None:
        """Raise Skip or RobotsRefused for a target, or redirect, that must not be fetched."""

    def _linked_items(
        self, item: ImportItem, url: str, name: str, headers: Mapping[str, str], file: IO[bytes]
    ) -> list[ItemDraft]:
        """The items that a page leads to. Raises Skip if the page itself must not be stored."""
        return []


def file_name(url: str, headers: Mapping[str, str], head: bytes) -> str:
    """A file name whose extension matches the content in `head`.

    The server's content type only decides between kinds of plain text. Content of an unsupported
    type keeps its name, without a known extension: it is refused when it is stored.
    """
    name = _header_name(headers.get("content-disposition", "")) or _name_in(url)
    extension = PurePosixPath(name).suffix.lower()
    if not _EXTENSION.fullmatch(extension):
        extension = ""  # "release-1.2" has none
    stem = name[: len(name) - len(extension)][:_MAX_STEM].strip(" .") or "page"
    by_name = filetypes.SUPPORTED.get(extension)
    content = _content(head, stem)
    if content is None:
        return f"{stem}{extension}" if by_name else name[:_MAX_STEM] or stem
    if content is filetypes.TEXT:
        claimed = _BY_MEDIA_TYPE.get(headers.get("content-type", "").split(";")[0].strip().lower())
        for wish in (by_name, claimed):
            if wish is not None and wish is not filetypes.HTML and _holds(head, stem, wish):
                return f"{stem}{extension if wish is by_name else wish.extension}"
    elif by_name is not None and _holds(head, stem, by_name) and not _is_page(content, by_name):
        return f"{stem}{extension}"
    return f"{stem}{content.extension}"


def _is_page(content: FileType, by_name: FileType) -> bool:
    """Whether a web page was served for a file: `notes.md` displayed by a web front end."""
    return content is filetypes.HTML and by_name is not filetypes.HTML


def _content(head: bytes, stem: str) -> FileType | None:
    """The type by content alone; None if it is unknown or unsupported."""
    try:
        return sniff(head, stem.replace(".", " "))
    except (RefusedUpload, TypeMismatch):
        return None


def _holds(head: bytes, stem: str, wish: FileType) -> bool:
    try:
        return sniff(head, f"{stem.replace('.', ' ')}{wish.extension}").media_type != ""
    except (RefusedUpload, TypeMismatch):
        return False


def _header_name(disposition: str) -> str:
    """The name in a Content-Disposition header, in either form; never a path."""
    if not disposition:
        return ""
    message = Message()
    message["Content-Disposition"] = disposition.encode("ascii", "ignore").decode()
    try:
        name = message.get_filename("") or ""
    except (LookupError, ValueError):
        return ""
    return PurePosixPath(name.replace("\\", "/")).name


def _name_in(url: str) -> str:
    parts = urlsplit(url)
    last = unquote(parts.path.rstrip("/").rpartition("/")[2], errors="replace")
    return PurePosixPath(last.replace("\\", "/")).name or (parts.hostname or "page").replace(
        ".", " "
    )


class SitemapSource(UrlSource):
    """The pages of a sitemap, or of all sitemaps of a site."""

    skips_unsupported = True

    def __init__(self, of: Import) -> None:
        super().__init__(of)
        self._options = WebOptions.of(of.options)

    @cached_property
    def _robots(self) -> Robots:
        return Robots(self._policy)

    def discover(self) -> Iterable[ItemDraft]:
        self.check()
        origin = read_target(self.of.origin)
        count = 0
        for url in dict.fromkeys(self._listed(origin)):
            if read_target(url).host != origin.host:
                continue
            yield ItemDraft(url)
            count += 1
            if count == self._options.pages:
                return
        if not count:
            raise ImportRefused(
                gettext("The sitemap lists no pages of this host. Check its address.")
            )

    def _listed(self, origin: Target) -> Iterator[str]:
        """The pages of all sitemaps; for the root of a site, of those in its robots.txt."""
        waiting = [origin.url]
        if origin.url == read_target("/", origin.url).url:
            sitemaps = self._robots.sitemaps(origin) or ["/sitemap.xml"]
            waiting = [read_target(one, origin.url).url for one in sitemaps]
        seen: set[str] = set()
        while waiting and len(seen) < _MAX_SITEMAPS:
            url = waiting.pop(0)
            if url in seen:
                continue
            seen.add(url)
            with fetch(read_target(url), self._policy) as answer:
                sitemap = read_sitemap(answer.file, answer.url, self._policy.size)
            if sitemap.is_index:
                waiting += sitemap.addresses
            else:
                yield from sitemap.addresses

    def _prepare(self, target: Target) -> None:
        self._robots.check(target)
        wait_for_turn(target.host, max(settings.URL_IMPORT_DELAY, self._robots.delay(target)))

    def _admit(self, target: Target, item: ImportItem) -> None:
        self._robots.check(target)

    def _linked_items(
        self, item: ImportItem, url: str, name: str, headers: Mapping[str, str], file: IO[bytes]
    ) -> list[ItemDraft]:
        page = self._page(url, name, headers, file)
        if not page.may_index:
            raise Skip(gettext("The page asks robots not to index it."))
        return []

    def _page(
        self, url: str, name: str, headers: Mapping[str, str], file: IO[bytes]
    ) -> CrawledPage:
        """The links and robots directives of a page; for other files, of the response headers."""
        text = ""
        if name.endswith(_PAGE_NAMES):
            text = decode_html(file.read(_READ_BYTES))
            file.seek(0)
        return read_page(text, url, headers, self._policy.agent)


class SiteSource(SitemapSource):
    """A page and the pages of its host that it links to, up to a depth."""

    def discover(self) -> Iterable[ItemDraft]:
        return UrlSource.discover(self)

    def _admit(self, target: Target, item: ImportItem) -> None:
        if item.depth and not self._is_of_site(target.url):
            raise Skip(gettext("The address is on another host, %(host)s.") % {"host": target.host})
        super()._admit(target, item)

    def _linked_items(
        self, item: ImportItem, url: str, name: str, headers: Mapping[str, str], file: IO[bytes]
    ) -> list[ItemDraft]:
        if not item.depth:
            self._hosts.add(read_target(url).host)
            item.metadata = {**item.metadata, FETCHED: url}
            item.save(update_fields=["metadata"])
        page = self._page(url, name, headers, file)
        items = list(self._links(item, page))
        if not page.may_index:
            raise Skip(gettext("The page asks robots not to index it."), items)
        return items

    def _links(self, item: ImportItem, page: CrawledPage) -> Iterator[ItemDraft]:
        if item.depth >= self._options.depth or not page.links:
            return
        addresses = set(
            ImportItem.objects.filter(of=self.of, reference__in=page.links).values_list(
                "reference", flat=True
            )
        )
        remaining = self._options.pages - ImportItem.objects.filter(of=self.of).count()
        new = (url for url in page.links if url not in addresses and self._is_of_site(url))
        for url, _ in zip(new, range(remaining), strict=False):
            yield ItemDraft(url, item.depth + 1)

    def _is_of_site(self, url: str) -> bool:
        return read_target(url).host in self._hosts

    @cached_property
    def _hosts(self) -> set[str]:
        """The host of the start page, and of its redirect, such as www.example.org."""
        hosts = {read_target(self.of.origin).host}
        starts = ImportItem.objects.filter(of=self.of, depth=0)
        for metadata in starts.values_list("metadata", flat=True):
            if fetched := metadata.get(FETCHED):
                hosts.add(read_target(fetched).host)
        return hosts


_last_request: dict[str, float] = {}
_turns = threading.Lock()


def wait_for_turn(host: str, seconds: float) -> None:
    """Block until `seconds` have passed since this process last requested from `host`."""
    with _turns:
        turn = max(_last_request.get(host, 0.0) + seconds, time.monotonic())
        if len(_last_request) > 10_000:
            _last_request.clear()
        _last_request[host] = turn
    time.sleep(max(turn - time.monotonic(), 0.0))
