"""What insiders search and do leaves no trace for those who may not read what they read."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from common.accounts.models import User
from ingestion.models import Document
from search.analytics import gathering
from search.analytics.models import Gap, SearchEvent
from tests.support import url_walker
from tests.support.url_walker import Subject
from tests.web import test_visibility
from tests.web.test_visibility import (
    PROBES,
    Make,
    client_of,
    hide,
    insider,
    librarian,
    open_document,
    traces_in,
    walk,
)

__all__ = ["client_of", "insider", "open_document"]  # fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

# Of what was asked, whatever was found: quoted from X, and never asked in the open.
ASKED = ("Goldtruhe", "Piratenschatz", "PII-2031-7788", "kapitaenskajuete")


# The others show nothing of searches; that of documents is test_visibility's to look for.
SHOWING = re.compile(
    r"$|admin/$|admin/(search|tuning|analytics)/|admin/(autocomplete|search)/$|search"
)


def test_searches_of_insiders_leave_no_trace(
    open_document: Document, client_of: Callable[[Make], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(librarian)
    showing = [route for route in url_walker.routes() if SHOWING.match(route.route)]
    monkeypatch.setattr(test_visibility, "routes", lambda: showing)
    assert any("searchevent" in route.route for route in showing)
    hidden, _ = hide()
    member = User.objects.create_user("pirate")
    member.groups.set(hidden.collection.groups.all())
    pirate = Client()
    pirate.force_login(member)
    for parameters in PROBES.values():
        pirate.get("/", parameters)
        pirate.get("/api/v1/search/", parameters)
    pirate.get("/", {"q": "Goldtruhe collection:kapitaenskajuete xyzzy -Goldtruhe"})
    SearchEvent.objects.update(unsure=True)
    gathering.gather(now=SearchEvent.objects.latest("at").at + gathering.SETTLE)
    assert Gap.objects.count() >= len(PROBES) - 2

    boss = Client()
    boss.force_login(User.objects.create_superuser("boss"))
    for address in ("/admin/analytics/searchevent/", "/admin/analytics/gap/"):
        assert "Goldtruhe" in boss.get(address).content.decode()  # or there were nothing to hide

    seen = walk(client, Subject.of(open_document))

    traced = {url: traces_in(answer.text, url, hidden) for url, answer in seen.items()}
    assert {url: found for url, found in traced.items() if found} == {}
    told = [url for url, a in seen.items() for word in ASKED if word in a.text and word not in url]
    assert told == []
