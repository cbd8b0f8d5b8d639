"""What the admin connects: embedding spaces and webhooks, who may do what, and what is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from common.accounts.models import User
from ingestion import spaces
from ingestion.models import ChunkEmbedding, EmbeddingSpace, Visibility
from ingestion.webhooks.models import Delivery, Webhook
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document
from tests.support.fake_openai import FakeOpenAI, status
from tests.support.local_site import Site
from tests.support.webhooks import deliver, make_hook, receiver

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

SPACES = "/admin/ingestion/embeddingspace/"
State = EmbeddingSpace.State


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


@pytest.fixture
def server(settings: Any) -> Iterator[FakeOpenAI]:
    with FakeOpenAI(api_key="none") as fake:
        settings.EMBEDDING_ADDRESSES = [fake.base_url]
        yield fake


def make_ready(space: EmbeddingSpace) -> None:
    """Fills a space by hand: within a test's transaction no index is built concurrently."""
    for chunk in spaces.unembedded(space):
        ChunkEmbedding.objects.create(chunk=chunk, space=space, vector=[1, 0, 0, 0])
    with connection.cursor() as cursor:  # rows whose references are still to be checked block it
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
    spaces.create_index(space)
    EmbeddingSpace.objects.filter(pk=space.pk).update(paused=False, filled_at=timezone.now())


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
        assert f"{model} (many languages, with German; licence MIT; 0.47 GB)" in shown
        assert "jina-embeddings-v2-base-de (German; licence Apache-2.0; 0.64 GB)" in shown
        assert "BAAI/bge-small-zh-v1.5 (" not in shown
        assert "make install EXTRAS=fastembed" in shown
        assert f"?kind=fastembed&model={model}" in shown
        form = page(desk, f"{SPACES}add/?kind=fastembed&model={model}")
        assert re.search(f'name="model" value="{model}"', form)
        assert re.search(r'<option value="fastembed" selected', form)
        keeper = signed_in(staff("keeper", "view_embeddingspace"))
        assert "does not know" not in page(keeper, SPACES)

    def test_a_multilingual_model_needs_no_other(self, desk: Client, first: EmbeddingSpace) -> None:
        make_document(make_collection("Werk", language="de"), "# Zwei\n\nDie Pumpe läuft.\n")
        first.languages = []
        first.save()
        assert "does not know" not in page(desk, SPACES)

    def test_new_model_is_tested_before_it_is_saved(
        self, desk: Client, first: EmbeddingSpace, server: FakeOpenAI
    ) -> None:
        data = form_data(desk.get(f"{SPACES}add/"), "embeddingspace_form")
        data |= {"kind": "openai", "model": "new", "base_url": server.base_url}
        server.then(status(404))
        refused = desk.post(f"{SPACES}add/", data)
        assert "has no model" in refused.content.decode()
        response = desk.post(f"{SPACES}add/", data)
        made = EmbeddingSpace.objects.get(name="new")
        assert response["Location"] == f"{SPACES}{made.pk}/start/confirm/"
        assert (made.dimensions, made.paused) == (8, True)
        asked = page(desk, response["Location"])
        assert "1 of 1 passages have no vector" in asked
        desk.post(response["Location"])
        made.refresh_from_db()
        assert not made.paused
        assert LogEntry.objects.filter(object_id=str(made.pk)).count() == 2

    def test_activation_lists_obstacles_before_it_happens(
        self, desk: Client, first: EmbeddingSpace, second: EmbeddingSpace
    ) -> None:
        address = f"{SPACES}{second.pk}/activate/confirm/"
        asked = page(desk, address)
        assert "1 passage has no vector" in asked
        assert '<button class="sy-button sy-button-primary">Activate' not in asked
        assert "cannot be activated yet" in said(desk.post(address))
        make_ready(second)
        assert "It replaces" in page(desk, address)
        assert "the next search uses it" in said(desk.post(address))
        states = dict(EmbeddingSpace.objects.values_list("pk", "state"))
        assert states == {first.pk: State.PREVIOUS, second.pk: State.ACTIVE}

    def test_the_name_changes_and_the_model_does_not(
        self, desk: Client, second: EmbeddingSpace
    ) -> None:
        address = f"{SPACES}{second.pk}/change/"
        data = form_data(desk.get(address), "embeddingspace_form")
        desk.post(address, data | {"name": "Newer", "fingerprint": "other"})
        second.refresh_from_db()
        assert (second.name, second.fingerprint) == ("Newer", "new@nowhere/4")
        assert desk.post(f"{SPACES}{second.pk}/delete/", {"post": "yes"}).status_code == 403

    @pytest.mark.parametrize(
        ("permissions", "action", "code"),
        [
            pytest.param(["view"], "start", 403, id="who may only look starts nothing"),
            pytest.param(["view", "change"], "drop", 403, id="who may not delete drops nothing"),
            pytest.param(["view", "change"], "start", 302, id="who may change starts it"),
            pytest.param(["view", "delete"], "drop", 302, id="who may delete drops it"),
        ],
    )
    def test_actions_on_spaces_need_their_permission(
        self, second: EmbeddingSpace, permissions: list[str], action: str, code: int
    ) -> None:
        client = signed_in(staff("s", *(f"{name}_embeddingspace" for name in permissions)))
        address = f"{SPACES}{second.pk}/{action}/confirm/"
        shown = page(client, f"{SPACES}{second.pk}/change/")
        assert (address in shown) == (code == 302)
        assert client.post(address).status_code == code

    def test_only_superusers_add_a_space(
        self, first: EmbeddingSpace, server: FakeOpenAI, desk: Client
    ) -> None:
        """A space sends every text of the library to its server."""
        codes = [f"{verb}_embeddingspace" for verb in ("view", "add", "change", "delete")]
        client = signed_in(staff("spacer", *codes))
        assert f"{SPACES}add/" not in page(client, SPACES)
        data = {"kind": "openai", "model": "new", "base_url": server.base_url}
        assert client.get(f"{SPACES}add/").status_code == 403
        assert client.post(f"{SPACES}add/", data).status_code == 403
        assert server.requests == []
        assert f"{SPACES}add/" in page(desk, SPACES)


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
