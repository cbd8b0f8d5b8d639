"""/metrics: the metrics of all processes of this machine, for whoever has METRICS_TOKEN.

Answered outside Django's threads and middleware: it must say what is wrong while the database is
unavailable and every thread is busy.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from common.observing import processes
from kbsite.operations.monitoring import gauges
from kbsite.operations.plain import Answer, Plain

PATH = "/metrics"
# One: scrapes that come at once wait for each other.
_thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")


def exposition() -> bytes:
    """All metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(SharedProcesses())
    registry.register(gauges.site_gauges)
    return generate_latest(registry)


class SharedProcesses(Collector):
    """A collector of what all processes of this machine have counted."""

    def collect(self) -> Iterator[Metric]:
        yield from processes.registry().collect()

    def describe(self) -> list[Metric]:
        """Nothing: a registry would else collect to learn the names."""
        return []


async def answer(headers: Mapping[str, str]) -> Answer:
    """The metrics for the token of the settings, 401 for another, 404 where none is set."""
    if not settings.METRICS_TOKEN:
        return Answer(404)
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    if not hmac.compare_digest(headers.get("authorization", "").encode(), expected):
        return Answer(401, headers={"www-authenticate": "Bearer"})
    body = await asyncio.get_running_loop().run_in_executor(_thread, exposition)
    return Answer(200, body, {"content-type": CONTENT_TYPE_LATEST})


metrics = Plain(answer)
