"""Events become deliveries, in the transaction of the event: none is lost, none told too early."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common.jobs import enqueue
from ingestion.models import Collection
from ingestion.webhooks.models import TEST, Delivery, Webhook


def record_event(
    *, event: str, collection_id: int, data: Callable[[], Mapping[str, Any]], **_signal: Any
) -> int:
    """Queue an event of a collection at the webhooks that want it and may know; return how many."""
    wanting = _wanting(event).filter(Q(collections=None) | Q(collections=collection_id)).distinct()
    told = [hook for hook in wanting if _may_read(hook, collection_id)]
    return _queue(told, event, data()) if told else 0


def record_fall(data: Mapping[str, Any], *, permission: str) -> int:
    """Queue a fall of the golden measures at the webhooks that want it; return how many.

    Only at those for users with the `permission` to see measures.
    """
    hooks = _wanting("search.quality_fell")
    permitted = (hook for hook in hooks if hook.acts_for and hook.acts_for.has_perm(permission))
    return _queue(permitted, "search.quality_fell", data)


def send_test(webhook: Webhook) -> None:
    """Queue an event that says nothing, to try the address."""
    _queue([webhook], TEST, {"webhook": webhook.name})


def _wanting(event: str) -> Any:
    hooks = Webhook.objects.filter(active=True, events__contains=[event])
    return hooks.select_related("acts_for")


def _may_read(webhook: Webhook, collection_id: int) -> bool:
    # In the bin or not: of a deletion, too, only those are told who could read what was deleted.
    return Collection.objects.open_to(webhook.acts_for).filter(pk=collection_id).exists()


@transaction.atomic
def _queue(webhooks: Iterable[Webhook], event: str, data: Mapping[str, Any]) -> int:
    body = json.dumps({"type": event, "timestamp": timezone.now().isoformat(), "data": dict(data)})
    deliveries = [Delivery(webhook=webhook, event=event, body=body) for webhook in webhooks]
    if deliveries:
        Delivery.objects.bulk_create(deliveries)
        for delivery in deliveries:
            enqueue(Webhook, delivery.webhook_id)
    return len(deliveries)
