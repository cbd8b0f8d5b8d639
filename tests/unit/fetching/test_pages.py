"""What a site says of its pages: links, wishes to robots, sitemaps, robots.txt, and file names."""

from __future__ import annotations

import gzip
import io
import time

import pytest

from ingestion.errors import FetchError, RetryLater, RobotsRefused, TooLong
from ingestion.intake.import_web import file_name
from ingestion.intake.site_crawling import Robots, read_page, read_sitemap
from ingestion.intake.url_fetching import Policy
from ingestion.intake.url_guard import read_target
from tests.samples import builders
from tests.support.local_site import Answer, Site

URL = "https://example.org/docs/a.html"


def links(text: str, **headers: str) -> list[str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = read_page(text, URL, named, "Steelyard").links
    return [link.removeprefix("https://example.org") for link in found]


def test_links_of_a_page_are_found() -> None:
    page = """<a href="b.html">b</a><A HREF='/c?x=1&amp;y=2'>c</A><a class=x href=d>d</a>
      <a href="b.html#part">again</a><a href="mailto:a@b.c">m</a><a href="javascript:x()">j</a>
      <a href="https://other.example/">o</a><a rel="nofollow ugc" href="/no">n</a>
      <!-- <a href="/hidden">h</a> --><script>"<a href='/script'>"</script>
      <area href="/map"><a name="x">no link</a><a href="">empty</a><a href="//[bad">bad</a>"""
    assert links(page) == [
        *("/docs/b.html", "/c?x=1&y=2", "/docs/d", "https://other.example/", "/map")
    ]


def test_base_element_changes_the_links() -> None:
    assert links('<base href="/other/"><a href="b">b</a>') == ["/other/b"]


@pytest.mark.parametrize(
    ("text", "header", "may_index", "may_follow"),
    [
        ("", "", True, True),
        ('<meta name="robots" content="noindex">', "", False, True),
        ('<meta content="NOFOLLOW, noarchive" name="Robots">', "", True, False),
        ('<meta name="steelyard" content="noindex">', "", False, True),
        ('<meta name="googlebot" content="noindex">', "", True, True),
        ("", "noindex, nofollow", False, False),
        ("", "steelyard: noindex", False, True),
    ],
)
def test_robots_meta_tags_are_respected(
    text: str, header: str, may_index: bool, may_follow: bool
) -> None:
    headers = {"x-robots-tag": header} if header else {}
    page = read_page(f'{text}<a href="/b">b</a>', URL, headers, "Steelyard")
    assert (page.may_index, bool(page.links)) == (may_index, may_follow)


@pytest.mark.parametrize(
    "text",
    [
        "<a " * 500_000, "<a href='" * 300_000, "<!--" * 500_000, "<script>" * 300_000,
        "<a href=x" + " " * 2_000_000 + ">", "<a " + "x=" * 1_000_000 + ">",
        '<a href="b">' * 200_000, "<script></scrip" * 200_000,
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_hostile_pages_are_read_quickly(text: str) -> None:
    started = time.process_time()
    assert len(links(text)) <= 5_000
    assert time.process_time() - started < 5


# --- sitemaps ----------------------------------------------------------------------------------

SITEMAP = """<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> https://example.org/a </loc><image:image><image:loc>https://example.org/p.png</image:loc>
  </image:image></url><url><loc>https://example.org/b&amp;c</loc></url>
  <url><loc>file:///etc/passwd</loc></url><url><loc>https://example.org/a</loc></url></urlset>"""


def sitemap(data: bytes, limit: int = 2**20) -> tuple[tuple[str, ...], bool]:
    found = read_sitemap(io.BytesIO(data), "https://example.org/sitemap.xml", limit)
    return found.addresses, found.is_index


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_sitemap_lists_its_addresses(pack: object) -> None:
    data = pack(SITEMAP.encode())  # type: ignore[operator]
    assert sitemap(data) == (("https://example.org/a", "https://example.org/b&c"), False)


def test_sitemap_index_lists_its_sitemaps() -> None:
    index = "<sitemapindex><sitemap><loc>/one.xml.gz</loc></sitemap></sitemapindex>"
    assert sitemap(index.encode()) == (("https://example.org/one.xml.gz",), True)


def test_sitemap_of_plain_lines_is_read() -> None:
    assert sitemap(b"https://example.org/a\n\nhttps://example.org/b\nnonsense\n")[0] == (
        "https://example.org/a",
        "https://example.org/b",
        "https://example.org/nonsense",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><urlset/>", "entities"),
        ("<html><body>Not found</body></html>", "Not a sitemap"),
        ("<urlset><url>", "well-formed"),
        ("<urlset>" + "<url>" * 30, "nested"),
    ],
)
def test_invalid_sitemap_is_an_error(text: str, message: str) -> None:
    with pytest.raises(FetchError, match=message):
        sitemap(text.encode())


def test_a_packed_sitemap_is_counted() -> None:
    with pytest.raises(TooLong):
        sitemap(gzip.compress(b"<urlset>" + b" " * 5_000_000), limit=2**20)


@pytest.mark.parametrize("cut", [slice(-9), slice(0, 40)], ids=["cut off", "nothing behind it"])
def test_a_damaged_packed_sitemap_is_an_error(cut: slice) -> None:
    with pytest.raises(FetchError, match="compression is damaged"):
        sitemap(gzip.compress(SITEMAP.encode())[cut])


# --- robots.txt --------------------------------------------------------------------------------


def test_robots_file_is_respected(site: Site, open_policy: Policy) -> None:
    site.routes["/robots.txt"] = Answer(
        b"User-agent: *\nDisallow: /\n\nUser-agent: Steelyard\nDisallow: /private\n"
        b"Allow: /private/open\nCrawl-delay: 2\n\nSitemap: https://example.org/s.xml\n"
    )
    robots = Robots(open_policy)
    target = read_target(site.url("/page"))
    robots.check(target)
    robots.check(read_target(site.url("/private/open")))
    with pytest.raises(RobotsRefused, match=r"robots\.txt of 127\.0\.0\.1"):
        robots.check(read_target(site.url("/private/a")))
    assert robots.delay(target) == 2.0
    assert robots.sitemaps(target) == ["https://example.org/s.xml"]
    assert site.paths == ["/robots.txt"]


def test_a_site_without_rules_allows_all(site: Site, open_policy: Policy) -> None:
    robots = Robots(open_policy)
    robots.check(read_target(site.url("/any")))
    assert robots.delay(read_target(site.url())) == 0.0


def test_a_site_whose_rules_fail_allows_nothing_for_now(site: Site, open_policy: Policy) -> None:
    site.routes["/robots.txt"] = Answer(status=503)
    with pytest.raises(RetryLater):
        Robots(open_policy).check(read_target(site.url("/any")))


# --- names -------------------------------------------------------------------------------------

PAGE = b"<!doctype html><p>text"


@pytest.mark.parametrize(
    ("url", "headers", "head", "name"),
    [
        ("https://example.org/", {}, PAGE, "example org.html"),
        ("https://example.org/guide.php?x=1", {}, PAGE, "guide.html"),
        ("https://example.org/notes.md", {}, PAGE, "notes.html"),
        ("https://example.org/notes.md", {}, b"# Notes\n", "notes.md"),
        ("https://example.org/notes", {"content-type": "text/markdown"}, b"# Notes\n", "notes.md"),
        ("https://example.org/data", {"content-type": "text/html"}, b"plain words", "data.txt"),
        ("https://example.org/a.html", {"content-type": "text/html"}, b"%PDF-1.7\n", "a.pdf"),
        ("https://example.org/a", {}, builders.make_docx(), "a.docx"),
        (
            "https://example.org/get",
            {"content-disposition": 'attachment; filename="../../etc/a.csv"'},
            b"a,b\n1,2\n",
            "a.csv",
        ),
        (
            "https://example.org/get",
            {"content-disposition": "attachment; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt"},
            b"words\n",
            "grüße.txt",
        ),
        ("https://example.org/..%2f..%2fetc%2fpasswd.txt", {}, b"words\n", "passwd.txt"),
    ],
)
def test_file_name_comes_from_address_and_headers(
    url: str, headers: dict[str, str], head: bytes, name: str
) -> None:
    assert file_name(url, headers, head) == name
