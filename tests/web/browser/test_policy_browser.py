"""The Content-Security-Policy in a real browser; all other pages here are watched, too."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_script_that_the_page_does_not_name_is_not_run(
    browser: Browser, live_server: Any
) -> None:
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto("/")
    for source in ("window.ran = true", None):
        page.evaluate(
            """source => {
                const script = document.createElement("script");
                source ? script.textContent = source : script.src = "/api/schema/";
                const event = new Promise(done =>
                    document.addEventListener("securitypolicyviolation", done, {once: true}));
                document.body.append(script);
                return event.then(() => null);
            }""",
            source,
        )
    assert page.evaluate("window.ran") is None
    assert sum("Content Security Policy" in each for each in said) == 2
    context.close()
