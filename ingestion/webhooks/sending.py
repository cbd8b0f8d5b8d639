"""Deliveries: recorded in the transaction of their event, signed, sent, repeated until accepted.

They go to addresses that the guard admits.
"""

from __future__ import annotations

import base64
import hmac
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from common import retries
from common.jobs import Lease, enqueue, work_on
from common.retries import retry_after
from ingestion.errors import AddressRefused, FetchError
from ingestion.intake.url_guard import read_target, resolve
from ingestion.intake.url_transport import FAILURES, Deadline, pool
from ingestion.models import Collection
from ingestion.webhooks.models import SECRET_PREFIX, TEST, Delivery, Webhook, guard

logger = logging.getLogger(__name__)


def record_event(
    *,
    event: str,
    collection_id: int,
    readers_id: int,
    data: Callable[[], Mapping[str, Any]],
    **_signal: Any,
) -> int:
    """Queue an event of a collection at the webhooks that want it and may know; return how many."""
    hooks = _subscribed(event).filter(Q(collections=None) | Q(collections=collection_id)).distinct()
    receivers = [hook for hook in hooks if _may_read(hook, readers_id)]
    return _queue(receivers, event, data()) if receivers else 0


def record_fall(data: Mapping[str, Any], *, permission: str) -> int:
    """Queue the event that golden measures fell for the subscribed webhooks; return the number.

    Only webhooks of users with the `permission` to see measures receive it.
    """
    hooks = _subscribed("search.quality_fell")
    permitted = (hook for hook in hooks if hook.acts_for and hook.acts_for.has_perm(permission))
    return _queue(permitted, "search.quality_fell", data)


def send_test(webhook: Webhook) -> None:
    """Queue a test event, to try the address."""
    _queue([webhook], TEST, {"webhook": webhook.name})


def _subscribed(event: str) -> Any:
    hooks = Webhook.objects.filter(active=True, events__contains=[event])
    return hooks.select_related("acts_for")


def _may_read(webhook: Webhook, readers_id: int) -> bool:
    # Including the bin: of a deletion, too, only users who could read the document are notified.
    open_ones = Collection.objects.open_to(webhook.acts_for).with_narrower(webhook.acts_for)
    return open_ones.filter(pk=readers_id).exists()


@transaction.atomic
def _queue(webhooks: Iterable[Webhook], event: str, data: Mapping[str, Any]) -> int:
    body = json.dumps({"type": event, "timestamp": timezone.now().isoformat(), "data": dict(data)})
    deliveries = [Delivery(webhook=webhook, event=event, body=body) for webhook in webhooks]
    if deliveries:
        Delivery.objects.bulk_create(deliveries)
        for delivery in deliveries:
            enqueue(Webhook, delivery.webhook_id)
    return len(deliveries)


State = Delivery.State
# With pauses that double from 10 seconds to an hour, about a day; both are guesses.
MAX_ATTEMPTS = 30
LONGEST_PAUSE = timedelta(hours=1)
# The most deliveries of one run: a receiver with a long queue must not block a worker.
AT_ONCE = 50
GONE = 410


@dataclass(frozen=True, slots=True)
class Reply:
    """A receiver's response. `wait` are the seconds of its Retry-After header, if any."""

    status: int
    wait: float | None = None

    @property
    def is_accepted(self) -> bool:
        return 200 <= self.status < 300


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The signature of Standard Webhooks 1: `v1,` and a base64 HMAC-SHA256."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def deliver(webhook_id: int) -> int:
    """Send the due deliveries of a webhook; return how many were accepted."""
    return work_on(Webhook, webhook_id, _deliver_due) or 0


def _deliver_due(lease: Lease[Webhook]) -> int:
    webhook, accepted = lease.row, 0
    waiting = Delivery.objects.due().filter(webhook=webhook).order_by("pk")
    for delivery in waiting[:AT_ONCE]:
        lease.check()
        reply = _attempt(webhook, delivery)
        if reply is None:
            # It is unreachable: the other deliveries wait too, instead of a time-out for each.
            lease.postpone(retries.pause(webhook.attempts, longest=LONGEST_PAUSE))
            return accepted
        accepted += reply.is_accepted
        lease.update(attempts=1)
        if reply.status == GONE:
            return accepted  # the others wait until it is switched on again
    if waiting.exists():
        enqueue(Webhook, webhook.pk)
    lease.update(attempts=0)
    return accepted


def _attempt(webhook: Webhook, delivery: Delivery) -> Reply | None:
    """Send a delivery once and store the result; None if there was no response."""
    delivery.attempts += 1
    delivery.status, delivery.error = None, ""
    try:
        reply = _post(webhook, delivery)
    except AddressRefused as error:
        _end(delivery, State.FAILED, error=str(error))
        return Reply(0)
    except FetchError as error:
        _retry(delivery, None, str(error))
        return None
    delivery.status = reply.status
    if reply.is_accepted:
        _end(delivery, State.DELIVERED)
    elif reply.status == GONE:
        _end(
            delivery,
            State.FAILED,
            error=gettext("The receiver no longer accepts deliveries (410)."),
        )
        Webhook.objects.filter(pk=webhook.pk).update(active=False)
        logger.warning("The webhook %s was switched off: its receiver is gone", webhook)
    else:
        _retry(
            delivery,
            reply.wait,
            gettext("The receiver responded with status %(status)s; only 2xx accepts a delivery.")
            % {"status": reply.status},
        )
    return reply


def _post(webhook: Webhook, delivery: Delivery) -> Reply:
    """The response to a delivery; its body is not read. Raises FetchError, AddressRefused."""
    target, body = read_target(webhook.url), delivery.body.encode()
    allowed, timestamp = guard(), int(timezone.now().timestamp())
    allowed.check(target)
    headers = [
        ("User-Agent", "Steelyard"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
        ("webhook-id", delivery.message_id),
        ("webhook-timestamp", str(timestamp)),
        ("webhook-signature", signature(webhook.secret, delivery.message_id, timestamp, body)),
    ]
    seconds = settings.WEBHOOK_SECONDS
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
    try:
        with (
            Deadline(seconds) as deadline,
            pool(allowed, resolve, deadline, None) as connections,
            connections.stream(
                "POST", target.url, headers=headers, content=body, extensions={"timeout": timeout}
            ) as response,
        ):
            # A redirect is a refusal: it could lead anywhere.
            fields = {name.lower(): value for name, value in response.headers}
            wait = retry_after(fields.get(b"retry-after", b"").decode("latin-1"))
            return Reply(response.status, wait)
    except FAILURES as error:
        reason = gettext("%(host)s cannot be reached, or did not respond in %(seconds)g seconds.")
        raise FetchError(reason % {"host": target.host, "seconds": seconds}) from error


def _retry(delivery: Delivery, wait: float | None, error: str) -> None:
    if delivery.attempts >= MAX_ATTEMPTS:
        _end(delivery, State.FAILED, error=error)
        return
    delivery.error = error
    pause = retries.pause(delivery.attempts, wait, longest=LONGEST_PAUSE)
    delivery.not_before = timezone.now() + pause
    delivery.save(update_fields=["attempts", "status", "error", "not_before"])


def _end(delivery: Delivery, state: Delivery.State, *, error: str = "") -> None:
    delivery.state, delivery.error, delivery.finished = state, error, timezone.now()
    delivery.save(update_fields=["attempts", "status", "error", "state", "finished"])


def send_again(delivery: Delivery) -> None:
    """Send a delivery now, even if it was accepted before; its id stays the same."""
    Delivery.objects.filter(pk=delivery.pk).update(
        state=State.QUEUED, attempts=0, not_before=None, finished=None, error=""
    )
    Webhook.objects.filter(pk=delivery.webhook_id).update(not_before=None, attempts=0)
    enqueue(Webhook, delivery.webhook_id)


def forget_old() -> int:
    """Delete the deliveries of more than settings.WEBHOOK_DAYS days ago; return how many."""
    limit = timezone.now() - timedelta(days=settings.WEBHOOK_DAYS)
    return Delivery.objects.filter(created__lt=limit).delete()[0]
