"""Webhooks in the admin: who may edit them, the secret shown once, their deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse

from common.accounts.models import User
from ingestion.models import Visibility
from ingestion.webhooks.models import Delivery, Webhook
from tests.support.admin_client import said, signed_in, staff
from tests.support.factories import make_collection
from tests.support.local_site import Site
from tests.support.webhooks import deliver, make_hook, receiver

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


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


def test_an_internal_address_is_refused_with_the_setting_that_allows_it(keeper: User) -> None:
    form = {"name": "Chat", "url": "http://10.0.0.5/", "events": ["document.ready"]}
    page = signed_in(keeper).post(reverse("admin:webhooks_webhook_add"), form)

    assert "WEBHOOK_ALLOW" in page.content.decode()
    assert not Webhook.objects.exists()


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


def test_collections_that_one_may_not_read_are_not_offered(keeper: User) -> None:
    make_collection("Open")
    make_collection("Crew", visibility=Visibility.GROUPS, groups=["insiders"])

    page = signed_in(keeper).get(reverse("admin:webhooks_webhook_add")).content.decode()

    assert "Open" in page
    assert "Crew" not in page


def test_others_may_not_act(hook: Webhook) -> None:
    client = signed_in(staff("viewer", "view_webhook"))
    for name in ("test", "secret"):
        asked = client.post(reverse(f"admin:webhooks_webhook_{name}", args=[hook.pk]))
        assert asked.status_code == 403
