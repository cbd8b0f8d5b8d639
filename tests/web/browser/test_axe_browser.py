"""axe-core finds nothing on any kind of page: for readers and in the admin, light and dark."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.urls import reverse
from playwright.sync_api import Page, expect

from common.accounts.models import User
from ingestion.models import Document
from search.models import SearchProfile
from search.readers import favourites, saved_searches
from tests.samples import builders
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, REGIONS
from tests.web.browser.conftest import OpenPage
from tests.web.test_page_pictures import PAGES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.forks]

READERS = (
    "/", "/?q=connection", "/?q=recipe+for+sourdough", "/?q=connection&before=2001-01-01",
    "/?q=%22pool+of+sharks%22+connection", "/library/",
    "/library/?collection=handbook&meta=tags%3Apool", "/concepts/", "/me/", "/me/favourites/",
    "/me/tokens/", "/threads/", "/api/docs/",
)  # fmt: skip
ADMIN = (
    "", "ingestion/document/", "ingestion/document/add/", "ingestion/document/{document}/change/",
    "ingestion/collection/add/", "ingestion/import/add/", "ingestion/identifierpattern/",
    "search/searchprofile/{profile}/change/", "{workbench}", "webhooks/webhook/add/",
    "search/pin/add/", "search/classrule/", "auth/group/add/",
)  # fmt: skip

# Of Swagger UI's own markup: a second <main>, and buttons within buttons.
SWAGGER = ("landmark-main-is", "landmark-no-dup", "landmark-unique", "nested-interactive")


@pytest.fixture
def document(transactional_db: None) -> Document:
    handbook = make_collection("Handbook", icon="book", description="What the crew should know.")
    make_document(handbook, REGIONS, file_name="regions.md")
    text = make_document(handbook, CONNECTIONS, file_name="connections.md")
    text.metadata = {"tags": ["pool", "servers"]}
    text.save(update_fields=["metadata"])
    return make_document(handbook, builders.make_pdf(PAGES), file_name="beam.pdf")


# Chooses the admin's theme again, as when a page is loaded, and waits for the colours.
DARK = """async () => {
    const chosen = Alpine.$data(document.documentElement);
    chosen.adminTheme = "light";
    chosen.adminTheme = "auto";
    await Alpine.nextTick();
    const changes = document.getAnimations().filter(each => each instanceof CSSTransition);
    await Promise.allSettled(changes.map(each => each.finished));
    return document.documentElement.classList.contains("dark");
}"""


def run_axe(page: Page, **options: Any) -> list[dict[str, Any]]:
    """What axe-core, which the page has, finds on it."""
    call = "async options => (await axe.run(options)).violations"
    found: list[dict[str, Any]] = page.evaluate(call, {"resultTypes": ["violations"], **options})
    return found


def violations(page: Page) -> list[str]:
    """What axe-core finds on the page, a line for each element; in the dark, of its colours."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    if "/api/docs/" in page.url:
        page.wait_for_selector(".opblock")
    if "/admin/" not in page.url:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.evaluate(AXE_SCRIPT)
    found = run_axe(page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    if "/admin/" in page.url:
        assert page.evaluate(DARK), f"{page.url} is not dark"
    found += run_axe(page, runOnly=["color-contrast"])
    return [
        f"{page.url} {each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for each in found
        if "/api/docs/" not in page.url or not each["id"].startswith(SWAGGER)
        for node in each["nodes"]
    ]


def test_axe_finds_no_accessibility_fault(open_page: OpenPage, document: Document) -> None:
    admin = User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")
    saved_searches.save(
        admin, name="Pool", question="connection", params={"type": ["text/markdown"]}
    )
    favourites.star(admin, document, on=True)
    profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    bench = reverse("admin:search_workbench").removeprefix("/admin/")
    named = {"document": document.pk, "profile": profile.pk, "workbench": bench}
    # axe is added to the page as a script of no file, which a policy of its own may refuse.
    visitor = open_page("/login/", bypass_csp=True)
    found = violations(visitor)
    visitor.goto("/?q=how+is+the+pool+of+connections+bounded")
    expect(visitor.locator(".answer")).to_be_visible()
    found += violations(visitor)

    page = open_page("/", user=admin, bypass_csp=True)
    own = document.get_absolute_url()
    hook = f"{own}?q=hook&chunk=1"
    text = Document.objects.get(latest__file_name="connections.md").get_absolute_url()
    addresses = [*READERS, own, hook, f"{own}?view=original&q=hook", text, "/nothing/here/"]
    for address in [*addresses, *(f"/admin/{path.format(**named)}" for path in ADMIN)]:
        response = page.goto(address)
        assert response is not None
        assert response.status == (404 if "nothing" in address else 200), address
        found += violations(page)
    assert found == []
