"""Imports from the web into the library: one address, a site, a sitemap; again, and resumed."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion.documents import processing_steps
from ingestion.errors import IngestionError
from ingestion.intake import import_web as web
from ingestion.intake.import_protocol import ImportRefused
from ingestion.intake.import_runner import run
from ingestion.intake.imports import resume, start, stop
from ingestion.models import Collection, Document, Import, ImportItem, SourceKind, State
from tests.samples import builders
from tests.support.factories import make_collection
from tests.support.local_site import Answer, Site, local_site, page, redirect

pytestmark = pytest.mark.django_db

S = ImportItem.State
Kind = Import.Kind


@pytest.fixture
def site(settings: Any) -> Iterator[Site]:
    """A local site that may be fetched from, without pauses."""
    with local_site() as running:
        settings.URL_IMPORT = True
        settings.URL_IMPORT_ALLOW = [f"127.0.0.1:{running.port}"]
        settings.URL_IMPORT_DELAY = 0.0
        settings.URL_IMPORT_SECONDS = 5
        yield running


@pytest.fixture
def collection(db: None) -> Collection:
    return make_collection()


def imported(
    collection: Collection, kind: Import.Kind, origin: str, **options: Any
) -> dict[str, tuple[str, str]]:
    """Path -> what became of it and why, once the import is over."""
    of = start(collection, kind, origin, acting_user=None, options=options)
    return _run(of)


def _run(of: Import) -> dict[str, tuple[str, str]]:
    assert run(of.pk, seconds=30)
    of.refresh_from_db()
    assert (of.state, of.error) == (Import.State.DONE, "")
    items = ImportItem.objects.filter(of=of).order_by("position")
    return {one.reference.split("/", 3)[3]: (one.state, one.message) for one in items}


def _states(found: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {path: state for path, (state, _) in found.items()}


# --- one address -------------------------------------------------------------------------------


def test_page_of_one_address_is_imported(site: Site, collection: Collection) -> None:
    site.routes["/guide.php?id=1"] = page("<h1>Beams</h1><p>The long arm.</p>")
    assert _states(imported(collection, Kind.URL, site.url("/guide.php?id=1#part"))) == {
        "guide.php?id=1": S.ADDED
    }
    document = Document.objects.select_related("latest").get()
    assert document.source == site.url("/guide.php?id=1")
    assert document.source_kind == SourceKind.URL
    assert document.latest is not None
    assert document.latest.file_name == "guide.html"
    assert processing_steps.advance(document.latest.pk)
    document.latest.refresh_from_db()
    assert document.latest.state == State.READY
    assert site.paths == ["/guide.php?id=1"]


def test_unchanged_address_adds_no_version(site: Site, collection: Collection) -> None:
    """What is unchanged changes nothing; what changed becomes the next version."""
    site.routes["/a"] = page("one")
    first = imported(collection, Kind.URL, site.url("/a"))
    again = imported(collection, Kind.URL, site.url("/a"))
    assert (_states(first), _states(again)) == ({"a": S.ADDED}, {"a": S.DUPLICATE})

    site.routes["/a"] = page("two")
    assert _states(imported(collection, Kind.URL, site.url("/a"))) == {"a": S.REPLACED}
    assert _states(imported(collection, Kind.URL, site.url("/a"))) == {"a": S.DUPLICATE}
    document = Document.objects.get()
    assert document.versions.count() == 2


def test_file_behind_an_address_is_imported(site: Site, collection: Collection) -> None:
    """Its server lies about the type; the content tells it."""
    content = builders.make_pdf()
    site.routes["/get"] = Answer(content, headers={"Content-Type": "text/html"})
    assert _states(imported(collection, Kind.URL, site.url("/get"))) == {"get": S.ADDED}
    document = Document.objects.select_related("latest").get()
    assert document.latest is not None
    assert (document.latest.file_name, document.latest.media_type) == ("get.pdf", "application/pdf")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(status=404), "nothing at this address"),
        (Answer(b"GIF89a...."), "GIF image"),
        (redirect("http://169.254.169.254/latest/meta-data/"), "internal address"),
        (redirect("http://127.0.0.1:9/"), "is not allowed|internal address"),
    ],
)
def test_failing_address_is_a_failed_item(
    site: Site, collection: Collection, answer: Answer, message: str
) -> None:
    site.routes["/a"] = answer
    state, said = imported(collection, Kind.URL, site.url("/a"))["a"]
    assert state == S.FAILED
    assert re.search(message, said)
    assert not Document.objects.exists()


def test_server_that_asks_for_a_pause_is_asked_later(site: Site, collection: Collection) -> None:
    site.routes["/a"] = Answer(status=429, headers={"Retry-After": "40"})
    of = start(collection, Kind.URL, site.url("/a"), acting_user=None)
    assert run(of.pk)
    of.refresh_from_db()
    assert of.state == Import.State.RUNNING
    assert of.not_before is not None
    assert 30 < (of.not_before - of.created).total_seconds() < 60
    assert not run(of.pk)
    site.routes["/a"] = page("there")
    Import.objects.update(not_before=None)
    assert _states(_run(of)) == {"a": S.ADDED}


# --- switched off, or refused ------------------------------------------------------------------


def test_import_of_addresses_is_off_by_default(collection: Collection) -> None:
    with pytest.raises(ImportRefused, match="URL_IMPORT=1"):
        start(collection, Kind.URL, "https://example.org/", acting_user=None)
    assert not Import.objects.exists()


@pytest.mark.parametrize(
    ("origin", "options", "message"),
    [
        ("http://127.0.0.1/", {}, "internal address"),
        ("https://example.org/", {"depth": 11}, "depth must be"),
        ("https://example.org/", {"max_pages": 100_000}, "max_pages must be"),
        ("https://example.org/", {"depth": "2"}, "depth must be"),
    ],
)
def test_invalid_import_is_refused_at_the_start(
    settings: Any, collection: Collection, origin: str, options: dict[str, Any], message: str
) -> None:
    settings.URL_IMPORT = True
    with pytest.raises(IngestionError, match=message):
        start(collection, Kind.SITE, origin, acting_user=None, options=options)
    assert not Import.objects.exists()


def test_local_site_is_refused_unless_allowed(
    site: Site, settings: Any, collection: Collection
) -> None:
    settings.URL_IMPORT_ALLOW = []
    settings.URL_IMPORT_PORTS = [80, 443, site.port]
    for url in (site.url(), site.url("/a", "localhost"), site.url("/a", "docs.localhost")):
        with pytest.raises(IngestionError, match="internal address"):
            start(collection, Kind.URL, url, acting_user=None)
    assert not Import.objects.exists()
    assert site.asked == []


# --- a site ------------------------------------------------------------------------------------


@pytest.fixture
def linked(site: Site) -> Site:
    """Pages three links deep, with everything on them that is not to be followed."""
    site.routes |= {
        "/": page(
            "<a href='/one'>1</a><a href='two#x'>2</a><a href='/private/a'>p</a>"
            "<a rel=nofollow href='/no'>n</a><a href='http://other.example/'>o</a>"
            "<a href='/away'>away</a><a href='/picture'>picture</a><a href='/hidden'>h</a>"
        ),
        "/one": page("one <a href='/deep'>deep</a><a href='/'>home</a>"),
        "/two": page("two <a href='/deep'>deep</a>"),
        "/deep": page("deep <a href='/deeper'>deeper</a>"),
        "/deeper": page("deeper"),
        "/away": redirect("http://other.example/"),
        "/picture": Answer(b"GIF89a....", headers={"Content-Type": "image/gif"}),
        "/hidden": page("<meta name=robots content=noindex>hidden <a href='/under'>under</a>"),
        "/under": page("under"),
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n"),
    }
    return site


def test_site_import_stops_at_its_depth(linked: Site, collection: Collection) -> None:
    found = imported(collection, Kind.SITE, linked.url(), depth=2)
    assert _states(found) == {
        "": S.ADDED, "one": S.ADDED, "two": S.ADDED, "private/a": S.SKIPPED, "away": S.SKIPPED,
        "picture": S.SKIPPED, "hidden": S.SKIPPED, "deep": S.ADDED, "under": S.ADDED,
    }  # fmt: skip
    assert "robots.txt" in found["private/a"][1]
    assert "another host" in found["away"][1]
    assert "not to index" in found["hidden"][1]
    assert "GIF" in found["picture"][1]
    assert linked.paths.count("/robots.txt") == 1
    assert {"/no", "/private/a", "/deeper"}.isdisjoint(linked.paths)
    assert Document.objects.count() == 5


def test_site_import_stops_at_its_number_of_pages(linked: Site, collection: Collection) -> None:
    found = imported(collection, Kind.SITE, linked.url(), depth=5, max_pages=3)
    assert list(found) == ["", "one", "two"]
    assert _states(imported(collection, Kind.SITE, linked.url(), depth=0)) == {"": S.DUPLICATE}


def test_site_import_waits_for_a_failing_robots_file(site: Site, collection: Collection) -> None:
    site.routes["/robots.txt"] = Answer(status=503)
    of = start(collection, Kind.SITE, site.url(), acting_user=None)
    run(of.pk)
    of.refresh_from_db()
    assert of.is_open
    assert of.not_before is not None
    assert site.paths == ["/robots.txt"]


def test_stopped_site_import_continues_where_it_was(linked: Site, collection: Collection) -> None:
    of = start(collection, Kind.SITE, linked.url(), acting_user=None, options={"depth": 2})
    while ImportItem.objects.filter(of=of).exclude(state=S.WAITING).count() < 3:
        run(of.pk, seconds=-1)  # a slice ends before its first item, but for finding it
        assert run(of.pk, seconds=0.01)
    assert stop(of, acting_user=None)
    assert not run(of.pk)
    resume(of, acting_user=None)
    assert len(_run(of)) == 9
    pages = [path for path in linked.paths if path != "/robots.txt"]
    assert len(pages) == len(set(pages))


def test_site_import_pauses_between_requests(
    site: Site, collection: Collection, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    clock = SimpleNamespace(sleep=waited.append, monotonic=lambda: 1_000.0)
    monkeypatch.setattr(web, "time", clock)
    settings.URL_IMPORT_DELAY = 0.5
    site.routes["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 3\n")
    site.routes["/"] = page("<a href='/a'>a</a>")
    site.routes["/a"] = page("a")
    web._last_request.clear()
    imported(collection, Kind.SITE, site.url())
    assert waited == [0, 3]


# --- sitemaps ----------------------------------------------------------------------------------


def _sitemap(*urls: str) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>".encode()


def test_sitemap_import_adds_the_listed_pages(site: Site, collection: Collection) -> None:
    index = f"<sitemapindex><sitemap><loc>{site.url('/s.xml.gz')}</loc></sitemap></sitemapindex>"
    site.routes |= {
        "/robots.txt": Answer(f"Sitemap: {site.url('/index.xml')}\n".encode()),
        "/index.xml": Answer(index.encode()),
        "/s.xml.gz": Answer(
            gzip.compress(_sitemap(site.url("/a"), site.url("/b"), "http://other.example/"))
        ),
        "/a": page("a <a href='/c'>c</a>"),
        "/b": page("b"),
    }
    expected = {"a": S.ADDED, "b": S.ADDED}
    assert _states(imported(collection, Kind.SITEMAP, site.url())) == expected
    direct = imported(make_collection("Other"), Kind.SITEMAP, site.url("/index.xml"), max_pages=1)
    assert _states(direct) == {"a": S.ADDED}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (page("no sitemap"), "Not a sitemap|well-formed"),
        (Answer(status=404), "nothing at this address"),
        (Answer(_sitemap("http://other.example/")), "lists no pages of this host"),
        (Answer(gzip.compress(bytes(40_000_000))), "larger than 20 MB|well-formed"),
    ],
)
def test_invalid_sitemap_fails_the_import(
    site: Site, settings: Any, collection: Collection, answer: Answer, message: str
) -> None:
    settings.URL_IMPORT_MB = 20
    site.routes["/sitemap.xml"] = answer
    of = start(collection, Kind.SITEMAP, site.url("/sitemap.xml"), acting_user=None)
    run(of.pk)
    of.refresh_from_db()
    assert of.state == Import.State.FAILED
    assert re.search(message, of.error)


# --- the command -------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_command_imports_a_site(linked: Site, no_worker: None) -> None:
    out = StringIO()
    call_command(
        "import_documents", linked.url(), collection="Web", depth=1, stdout=out, stderr=out
    )
    collection = Collection.objects.get(name="Web")
    documents = Document.objects.filter(collection=collection)
    assert documents.count() == 3
    assert set(documents.values_list("latest__state", flat=True)) == {State.READY}
    assert "3 " in out.getvalue()


def test_the_command_says_what_is_wrong(site: Site) -> None:
    with pytest.raises(CommandError, match="internal address"):
        call_command("import_documents", "http://10.0.0.1/", collection="Web")
    with pytest.raises(CommandError, match="Name what to import"):
        call_command("import_documents", collection="Web")
