"""A real browser against a live server. `open_page` makes pages that watch themselves."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from common.accounts.models import User
from tests.support.database import FirstRows
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, REGIONS
from tests.support.programs import require

# What a busy machine may take; a test that waits so long is seldom, and then says why.
expect.set_options(timeout=20_000)

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
# A page that takes longer on a busy machine than this is broken.
TIMEOUT_MILLISECONDS = 15_000

OpenPage = Callable[..., Page]
MadeOnce = Callable[[Callable[[], Any]], None]


def chromium_path() -> str | None:
    """Where Chromium is: CHROMIUM, or what the system has, without windows at half the time."""
    named = os.environ.get("CHROMIUM", "")
    names = (named, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture
def admin(transactional_db: None) -> User:
    return User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        require("chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def _made_rows() -> dict[Callable[[], Any], FirstRows]:
    """All rows of the database after a function of `made_once`."""
    return {}


@pytest.fixture
def made_once(transactional_db: None, _made_rows: dict[Callable[[], Any], FirstRows]) -> MadeOnce:
    """Calls a function that fills the new database, or restores the rows that it made before.

    Reading and embedding documents takes most of a second, restoring their rows some hundredths.
    """

    def made_once(fill: Callable[[], Any]) -> None:
        if fill in _made_rows:
            _made_rows[fill].restore()
        else:
            fill()
            _made_rows[fill] = FirstRows.of_database()

    return made_once


def fill_handbook() -> None:
    """Make a public collection of two documents."""
    handbook = make_collection("Handbook")
    make_document(handbook, CONNECTIONS, file_name="connections.md")
    make_document(handbook, REGIONS, file_name="regions.md")


@pytest.fixture
def handbook_made(made_once: MadeOnce) -> None:
    made_once(fill_handbook)


@pytest.fixture
def open_page(browser: Browser, live_server: Any) -> Iterator[OpenPage]:
    """Makes a page: `open_page("/?q=x", user=..., color_scheme="dark", width=390)`."""
    with pages_of(browser, live_server.url) as opened:
        yield opened


@contextmanager
def pages_of(browser: Browser, url: str) -> Iterator[OpenPage]:
    """What opens pages of the site at `url`.

    Other keywords go to Playwright's `new_context`. At the end no page may have raised an error,
    violated the Content-Security-Policy, or asked another host for anything.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def opened(
        address: str = "/", *, user: User | None = None, width: int = 1280, **options: Any
    ) -> Page:
        context = browser.new_context(
            base_url=url, viewport={"width": width, "height": 900}, **options
        )
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MILLISECONDS)
        if user is not None:
            context.add_cookies([session_cookie(user, url)])
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
        page.on(
            "console",
            lambda message: (
                problems.append(f"{page.url}: {message.text}")
                if "Content Security Policy" in message.text
                else None
            ),
        )
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((url, "data:", "blob:", "about:"))
                else problems.append(f"{page.url} asks {request.url}")
            ),
        )
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    requests_end()
    assert problems == []


def requests_end() -> None:
    """Wait for the statements of requests that the closed pages left behind.

    One that writes while the first rows are restored deadlocks with it.
    """
    deadline = time.monotonic() + 10
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND state <> 'idle' "
                "AND backend_type = 'client backend'"
            )
            if not cursor.fetchall():
                return
            time.sleep(0.02)


def session_cookie(user: User, url: str) -> Any:
    """The cookie of a signed-in session, as the browser would hold it."""
    client = Client()
    client.force_login(user)
    name = django_settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value, "url": url}
