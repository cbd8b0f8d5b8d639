"""What the admin connects: embedding spaces and webhooks, who may do what, and what is said."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from common.accounts.models import User
from ingestion.models import EmbeddingSpace, Visibility
from ingestion.webhooks.models import Delivery, Webhook
from tests.support.admin_client import said, signed_in, staff
from tests.support.factories import make_collection, make_document
from tests.support.local_site import Site
from tests.support.webhooks import deliver, make_hook, receiver

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

SPACES = "/admin/ingestion/embeddingspace/"


@pytest.fixture
def first(db: None) -> EmbeddingSpace:
    make_document(make_collection(), "# One\n\nA chunk.\n")
    return EmbeddingSpace.objects.get()


@pytest.fixture
def second(first: EmbeddingSpace) -> EmbeddingSpace:
    """A space with nothing in it, whose server is not there."""
    return EmbeddingSpace.objects.create(
        name="New model", fingerprint="new@nowhere/4", dimensions=4, max_tokens=512, paused=True,
        config={"kind": "openai", "model": "new", "base_url": "http://127.0.0.1:9/v1"},
    )  # fmt: skip


def page(client: Any, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return str(response.content.decode())


class TestAdmin:
    def test_a_model_for_the_librarys_languages_is_offered_with_its_cost(
        self, desk: Client, first: EmbeddingSpace
    ) -> None:
        """Half of the passages are German; the English model knows the others (D12)."""
        assert "does not know" not in page(desk, SPACES)
        cache.clear()
        make_document(make_collection("Werk", language="de"), "# Zwei\n\nDie Pumpe läuft.\n")
        shown = unescape(page(desk, SPACES))
        assert "50% of the passages are in languages that" in shown
        assert "(German 50%)" in shown
        model = "intfloat/multilingual-e5-small"
        assert (
            "Models that know German: jinaai/jina-embeddings-v2-base-de (German, English; " in shown
        )
        assert f"{model} (many languages; licence MIT; 0.47 GB)" in shown
        assert "BAAI/bge-small-zh-v1.5 (" not in shown
        assert "make install EXTRAS=fastembed" in shown
        assert "embedding_space create fastembed --model NAME," in shown
        keeper = signed_in(staff("keeper", "view_embeddingspace"))
        assert "does not know" not in page(keeper, SPACES)

    def test_a_page_shows_how_its_model_compared(self, desk: Client, first: EmbeddingSpace) -> None:
        address = f"{SPACES}{first.pk}/change/"
        assert "Compared with" not in page(desk, address)
        EmbeddingSpace.objects.update(comparison="golden queries (6)   0.810   0.833")
        assert "golden queries (6)   0.810   0.833" in page(desk, address)
        # The figures are of all collections.
        assert "0.833" not in page(signed_in(staff("keeper", "view_embeddingspace")), address)

    def test_a_multilingual_model_needs_no_other(self, desk: Client, first: EmbeddingSpace) -> None:
        make_document(make_collection("Werk", language="de"), "# Zwei\n\nDie Pumpe läuft.\n")
        first.languages = []
        first.save()
        assert "does not know" not in page(desk, SPACES)

    def test_only_the_command_changes_a_space(self, desk: Client, second: EmbeddingSpace) -> None:
        """A space sends every text of the library to its server."""
        shown = page(desk, f"{SPACES}{second.pk}/change/")
        assert "1 of 1 passages have no vector" in shown
        assert "manage.py embedding_space" in shown
        assert '<input type="text" name="name"' not in shown
        assert f"{SPACES}add/" not in page(desk, SPACES)
        for address in ("add/", f"{second.pk}/change/", f"{second.pk}/delete/"):
            assert desk.post(f"{SPACES}{address}", {"name": "x", "post": "yes"}).status_code == 403


# --- Webhooks: who may edit them, the secret shown once, their deliveries ------------------------


@pytest.fixture
def site(settings: Any) -> Iterator[Site]:
    with receiver(settings) as running:
        yield running


@pytest.fixture
def hook(site: Site, administrator: User) -> Webhook:
    return make_hook(site, administrator)


@pytest.fixture
def keeper() -> User:
    """May edit webhooks, and is in no group."""
    return staff("keeper", "view_webhook", "add_webhook", "change_webhook")


def test_the_secret_is_shown_once(site: Site, keeper: User) -> None:
    client = signed_in(keeper)
    form = {"name": "Chat", "url": site.url("/hook"), "events": ["document.ready"], "active": 1}
    added = client.post(reverse("admin:webhooks_webhook_add"), form)
    made = Webhook.objects.get()
    page = reverse("admin:webhooks_webhook_change", args=[made.pk])

    assert made.secret in said(added)
    assert made.secret in client.get(added.headers["Location"]).content.decode()
    assert made.secret not in client.get(page).content.decode()
    assert made.acts_for == keeper

    replaced = client.post(reverse("admin:webhooks_webhook_secret", args=[made.pk]))
    fresh = Webhook.objects.get()
    assert fresh.secret != made.secret
    assert fresh.secret in said(replaced)


def test_deliveries_are_listed_tested_and_sent_again(
    hook: Webhook, keeper: User, django_assert_max_num_queries: Any
) -> None:
    client = signed_in(keeper)
    client.post(reverse("admin:webhooks_webhook_test", args=[hook.pk]))
    assert deliver(hook) == 1
    delivery = hook.deliveries.get()
    page = reverse("admin:webhooks_webhook_change", args=[hook.pk])
    assert "webhook.test" in client.get(page).content.decode()

    client.post(reverse("admin:webhooks_webhook_again", args=[hook.pk, delivery.pk]))

    assert hook.deliveries.get().state == Delivery.State.QUEUED
    Delivery.objects.bulk_create(
        Delivery(webhook=hook, event="webhook.test", body="{}") for _ in range(30)
    )
    with django_assert_max_num_queries(12):
        client.get(page)


def test_unreadable_collections_are_not_offered(keeper: User) -> None:
    make_collection("Open")
    make_collection("Crew", visibility=Visibility.GROUPS, groups=["insiders"])

    page = signed_in(keeper).get(reverse("admin:webhooks_webhook_add")).content.decode()

    assert "Open" in page
    assert "Crew" not in page


def test_viewers_cannot_act_on_webhooks(hook: Webhook) -> None:
    client = signed_in(staff("viewer", "view_webhook"))
    for name in ("test", "secret"):
        asked = client.post(reverse(f"admin:webhooks_webhook_{name}", args=[hook.pk]))
        assert asked.status_code == 403
