"""A receiver of webhooks on this machine, and webhooks that send to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from common.accounts.models import User
from ingestion.webhooks import sending
from ingestion.webhooks.models import Event, Webhook
from tests.support.local_site import Answer, Site, local_site

ACCEPTED = Answer(status=204)


@contextmanager
def receiver(settings: Any) -> Iterator[Site]:
    """A site that accepts deliveries at /hook, to which the settings let them go."""
    with local_site() as running:
        settings.WEBHOOK_ALLOW = [f"127.0.0.1:{running.port}"]
        settings.WEBHOOK_SECONDS = 5.0
        running.routes["/hook"] = ACCEPTED
        yield running


def make_hook(site: Site, user: User | None, **fields: Any) -> Webhook:
    """A webhook that is told of everything that `user` may read."""
    values = {"name": "Chat", "url": site.url("/hook"), "events": Event.values, **fields}
    return Webhook.objects.create(acts_for=user, **values)


def deliver(hook: Webhook) -> int:
    """Send what waits, however long it should; return how many were accepted."""
    hook.deliveries.update(not_before=None)
    Webhook.objects.update(not_before=None)
    return sending.deliver(hook.pk)
