"""The Celery application. Tasks live in each app's tasks.py.

Celery's own Django fixup closes the database connections and pools that a worker process
inherits from its parent, and those of each task when it ends.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, worker_ready
from kombu.transport import redis

from common import heartbeat  # noqa: F401 -- connects its receivers of signals
from kbsite.operations import instrumentation  # noqa: F401 -- the same

logger = logging.getLogger(__name__)


class ClosedConnectionQoS(redis.QoS):
    """Unacknowledged messages of a channel, forgotten once its connection is closed.

    Kombu returns the messages of a lost connection to their queues when it closes it. If the
    broker is still down then, its Redis transport fails on the half-closed connection and a
    worker that is processing a document exits (seen with kombu 5.7). Nothing needs to be
    returned here: unfinished work is recorded in the database, and the sweep enqueues it again.
    """

    def restore_unacked(self, client: Any = None) -> None:
        if self._is_open():
            super().restore_unacked(client)  # type: ignore[no-untyped-call]

    def ack(self, delivery_tag: str) -> None:
        if self._is_open():
            super().ack(delivery_tag)  # type: ignore[no-untyped-call]

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if self._is_open():
            super().reject(delivery_tag, requeue)  # type: ignore[no-untyped-call]

    def _is_open(self) -> bool:
        return self.channel.connection is not None and self.channel.connection.client is not None


class Channel(redis.Channel):
    QoS = ClosedConnectionQoS


class Transport(redis.Transport):
    """Kombu's Redis transport with these channels; CELERY_BROKER_TRANSPORT names it."""

    Channel = Channel


class SocketTransport(Transport):
    """The same transport for a Unix socket; the channels read its path."""

    can_parse_url = True


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

app = Celery("steelyard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_init.connect
@beat_init.connect
def start_servers(**_signal: Any) -> None:
    """Start the embedded servers before a worker or beat first connects to its broker."""
    from kbsite.embedded import ensure_servers

    ensure_servers()


@worker_ready.connect
def close_files(**_signal: Any) -> None:
    """Close the originals to other users of the machine: older versions left them open."""
    from ingestion.files.storage import close_originals

    close_originals()


@worker_ready.connect
def warn_of_isolation(**_signal: Any) -> None:
    """Log each layer of the parsers' isolation that is not enforced on this machine."""
    from ingestion.parsing.child.isolation_report import isolation_report

    for is_enforced, text in isolation_report():
        if not is_enforced:
            logger.warning(text)
