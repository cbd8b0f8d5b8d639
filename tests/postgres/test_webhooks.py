"""Webhooks: a receiver gets every event once it is true, signed, until it accepts it."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from common.accounts.models import User
from ingestion import services
from ingestion.models import Collection, Document, Visibility
from ingestion.webhooks import sending
from ingestion.webhooks.models import Delivery, Webhook
from search.tuning.evaluation import nightly
from search.tuning.models import EvaluationRun, QualityRun
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import active_profile
from tests.support.local_site import Answer, Site, redirect
from tests.support.webhooks import ACCEPTED, deliver, make_hook, receiver

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

BROKEN = Answer(status=500)
# A receiver checks signatures by the code of the manual.
PAGE = (Path(__file__).parents[2] / "docs" / "webhooks.md").read_text()
CODE: dict[str, Any] = {}
exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], CODE)
is_genuine = CODE["is_genuine"]
HARBOUR = "# Tides\n\nHigh water comes twice a day.\n"


@pytest.fixture
def site(settings: Any) -> Iterator[Site]:
    """A receiver on this machine that deliveries may go to."""
    with receiver(settings) as running:
        yield running


@pytest.fixture
def hook(site: Site, administrator: User) -> Webhook:
    """Told of everything, for a superuser."""
    return make_hook(site, administrator)


def told(hook: Webhook) -> list[tuple[str, dict[str, Any]]]:
    """The events queued for a webhook, oldest first, with their data."""
    rows = [json.loads(each.body) for each in hook.deliveries.order_by("pk")]
    return [(row["type"], row["data"]) for row in rows]


class TestSending:
    def test_an_event_is_sent_until_it_is_accepted_with_one_id_and_a_signature(
        self, site: Site, hook: Webhook
    ) -> None:
        document = make_document(make_collection("Harbour"), HARBOUR)
        answers = iter((BROKEN, BROKEN, ACCEPTED))
        site.routes["/hook"] = lambda _: next(answers)
        begun = int(time.time())

        assert [deliver(hook) for _ in range(4)] == [0, 0, 1, 0]

        assert len(site.asked) == 3
        assert {headers["webhook-id"] for _, headers in site.asked} == {
            hook.deliveries.get().message_id
        }
        assert len(set(site.bodies)) == 1
        for (_, headers), body in zip(site.asked, site.bodies, strict=True):
            assert is_genuine(hook.secret, headers, body)
            assert begun <= int(headers["webhook-timestamp"]) <= time.time()
        event = json.loads(site.bodies[0])
        assert (event["type"], event["data"]) == (
            "document.ready",
            {
                "id": str(document.public_id),
                "collection": "harbour",
                "version": 1,
                "path": f"/documents/{document.public_id}/",
                "state": "ready",
            },
        )
        done = hook.deliveries.get()
        assert (done.state, done.attempts, done.status, done.error) == ("delivered", 3, 204, "")

    def test_a_failed_attempt_waits_and_says_why(self, site: Site, hook: Webhook) -> None:
        site.routes["/hook"] = Answer(status=503, headers={"Retry-After": "1200"})
        sending.send_test(hook)

        assert sending.deliver(hook.pk) == 0
        assert sending.deliver(hook.pk) == 0  # not before its time

        waiting = hook.deliveries.get()
        assert (waiting.state, waiting.attempts, waiting.status) == ("queued", 1, 503)
        assert "status 503" in waiting.error
        assert waiting.not_before is not None
        assert 1100 < (waiting.not_before - timezone.now()).total_seconds() <= 1200
        assert len(site.asked) == 1

    def test_after_the_last_attempt_it_has_failed_and_can_be_sent_again(
        self, site: Site, hook: Webhook
    ) -> None:
        site.routes["/hook"] = BROKEN
        sending.send_test(hook)
        hook.deliveries.update(attempts=sending.MAX_ATTEMPTS - 1)
        deliver(hook)
        assert hook.deliveries.get().state == Delivery.State.FAILED
        site.routes["/hook"] = ACCEPTED

        sending.send_again(hook.deliveries.get())

        assert sending.deliver(hook.pk) == 1
        assert hook.deliveries.get().state == Delivery.State.DELIVERED
        assert len({headers["webhook-id"] for _, headers in site.asked}) == 1

    def test_hanging_receiver_costs_one_time_out_for_all_waiting_events(
        self, site: Site, hook: Webhook, settings: Any
    ) -> None:
        is_over = threading.Event()

        def hang(handler: BaseHTTPRequestHandler) -> None:
            is_over.wait(60)

        settings.WEBHOOK_SECONDS = 1.5
        site.routes["/hook"] = Answer(hang)
        sending.send_test(hook)
        sending.send_test(hook)

        assert sending.deliver(hook.pk) == 0
        assert sending.deliver(hook.pk) == 0
        is_over.set()

        assert len(site.asked) == 1
        hook.refresh_from_db()
        assert hook.not_before is not None
        assert "did not respond in 1.5 seconds" in hook.deliveries.earliest("pk").error

    def test_one_refused_event_does_not_hold_back_the_next(self, site: Site, hook: Webhook) -> None:
        answers = iter((BROKEN, ACCEPTED))
        site.routes["/hook"] = lambda _: next(answers)
        sending.send_test(hook)
        sending.send_test(hook)

        assert sending.deliver(hook.pk) == 1

        states = hook.deliveries.order_by("pk").values_list("state", flat=True)
        assert list(states) == ["queued", "delivered"]

    def test_a_receiver_that_is_gone_is_switched_off(self, site: Site, hook: Webhook) -> None:
        site.routes["/hook"] = Answer(status=410)
        sending.send_test(hook)
        sending.send_test(hook)

        deliver(hook)

        hook.refresh_from_db()
        assert not hook.active
        states = hook.deliveries.order_by("pk").values_list("state", flat=True)
        assert list(states) == ["failed", "queued"]
        assert len(site.asked) == 1

    def test_old_deliveries_are_forgotten(self, hook: Webhook, settings: Any) -> None:
        sending.send_test(hook)
        assert sending.forget_old() == 0
        hook.deliveries.update(created=timezone.now() - timedelta(days=31))
        assert sending.forget_old() == 1


class TestAddresses:
    def test_a_redirect_is_not_followed(self, site: Site, hook: Webhook) -> None:
        site.routes["/hook"] = redirect(site.url("/inside"), 307)
        sending.send_test(hook)

        assert sending.deliver(hook.pk) == 0

        assert site.paths == ["/hook"]
        assert hook.deliveries.get().status == 307

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254"])
    def test_no_request_is_sent_to_an_internal_address(
        self, site: Site, hook: Webhook, settings: Any, host: str
    ) -> None:
        settings.WEBHOOK_ALLOW = []
        Webhook.objects.update(url=f"http://{host}/hook")
        sending.send_test(hook)

        assert sending.deliver(hook.pk) == 0

        refused = hook.deliveries.get()
        assert (refused.state, site.asked) == (Delivery.State.FAILED, [])
        assert "WEBHOOK_ALLOW" in refused.error

    @pytest.mark.parametrize("url", ["http://127.0.0.1/x", "ftp://example.org/", "http://a:b@c/"])
    def test_internal_address_cannot_be_saved(self, url: str) -> None:
        with pytest.raises(ValidationError) as caught:
            Webhook(name="Chat", url=url, events=["document.ready"]).full_clean()
        assert "url" in caught.value.message_dict


class TestEvents:
    def test_deletions_and_restores_are_sent(self, hook: Webhook, administrator: User) -> None:
        shelf = make_collection("Harbour")
        document = make_document(shelf, HARBOUR)
        services.delete([document], acting_user=administrator)
        services.restore([Document.objects.get(pk=document.pk)], acting_user=administrator)
        services.delete_collection(shelf, acting_user=administrator)
        services.restore_collection(Collection.objects.get(pk=shelf.pk), acting_user=administrator)
        services.purge([document])

        assert [(event, data.get("state")) for event, data in told(hook)] == [
            ("document.ready", "ready"),
            ("document.deleted", "deleted"),
            ("document.ready", "ready"),
            ("collection.deleted", None),
            ("collection.restored", None),
            ("document.deleted", "deleted"),
        ]

    def test_a_failure_has_its_code_and_no_text(self, hook: Webhook) -> None:
        make_document(make_collection("Harbour"), b"%PDF-1.4 torn", file_name="secret-plan.pdf")

        ((event, data),) = told(hook)
        assert (event, data["state"], data["error"]) == ("document.failed", "failed", "damaged")
        assert "secret-plan" not in hook.deliveries.get().body

    def test_webhook_gets_only_its_events_and_collections(
        self, site: Site, administrator: User
    ) -> None:
        harbour, inland = make_collection("Harbour"), make_collection("Inland")
        hook = make_hook(site, administrator, events=["document.deleted"])
        hook.collections.add(harbour)
        off = make_hook(site, administrator, name="Off", active=False)
        for shelf in (harbour, inland):
            services.delete([make_document(shelf, HARBOUR)], acting_user=administrator)

        assert [(event, data["collection"]) for event, data in told(hook)] == [
            ("document.deleted", "harbour")
        ]
        assert told(off) == []

    def test_webhook_gets_no_event_of_an_unreadable_document(
        self, site: Site, reader: User, member: User
    ) -> None:
        hooks = {user: make_hook(site, user, name=str(user)) for user in (None, reader, member)}
        hidden = make_collection("Crew", visibility=Visibility.GROUPS, groups=["insiders"])
        make_document(hidden, HARBOUR)

        assert {user: len(told(hook)) for user, hook in hooks.items()} == {
            None: 0,
            reader: 0,
            member: 1,
        }

    def test_quality_alert_is_sent_without_the_queries(
        self, site: Site, hook: Webhook, reader: User
    ) -> None:
        others = make_hook(site, reader, name="Reader's")
        for date, value in (("2026-03-08", 0.75), ("2026-03-09", 0.69)):
            rows = {"1": {"text": "a secret question", "measures": {"nDCG@10": value}}}
            run = EvaluationRun.objects.create(profile=active_profile(), by_query=rows)
            QualityRun.objects.create(date=date, run=run)

        for _ in range(2):  # the second has nothing to judge
            nightly.judge()

        ((event, data),) = told(hook)
        assert (event, data["before"], data["now"]) == ("search.quality_fell", 0.75, 0.69)
        assert "a secret question" not in str(data)
        assert told(others) == []
