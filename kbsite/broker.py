"""Lets a worker outlive its broker.

Kombu puts the messages of a lost connection back into their queues when it closes it. Where the
broker is still away by then, its Redis transport trips over a connection that it has half closed,
and a worker that has a document in hand ends (seen with kombu 5.7). Nothing need be put back here:
what is left to do stands in the database, and the sweep asks again.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import redis


class UnhurriedQoS(redis.QoS):
    """What a channel still owes the broker; once its connection is closed, nothing."""

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


def install() -> None:
    """Has every channel of this process keep its accounts so."""
    redis.Channel.QoS = UnhurriedQoS
