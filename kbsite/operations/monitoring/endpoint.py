"""/metrics: the metrics of all processes of this machine, for whoever has METRICS_TOKEN.

Answered outside Django's threads and middleware: it must say what is wrong while the database is
unavailable and every thread is busy.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import DatabaseError
from kombu.exceptions import OperationalError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from common.database import released
from common.observing import processes
from common.probes import PROBES, Probe, can_run, gauge
from kbsite.operations.probes.health import Answer, Plain

logger = logging.getLogger(__name__)

PATH = "/metrics"
# One: scrapes that come at once wait for each other.
_thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")


# The gauges of all probes take three statements and one round trip to the queues, at most once in
# so many seconds, whoever scrapes.
CACHED = 5.0


class SiteGauges(Collector):
    """A collector of `prometheus_client`: the gauges of the whole site, cached."""

    def __init__(self, seconds: float = CACHED) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._until = float("-inf")
        self._metrics: list[Metric] = []

    def collect(self) -> Iterable[Metric]:
        """The gauges; those of a server that does not answer are left out."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._metrics = list(released(lambda: list(_measure())))
                self._until = time.monotonic() + self._seconds
            return self._metrics

    def describe(self) -> list[Metric]:
        """Nothing: a registry would else ask the servers to learn the names."""
        return []


def _measure() -> Iterator[Metric]:
    up = gauge("server_up", "Whether a server behind the site answers.", "server")
    down = set()
    for probe in PROBES.values():
        if probe.alive is not None and probe.vital:
            is_up = bool(probe.alive())
            up.add_metric([probe.name], float(is_up))
            if not is_up:
                down.add(probe.name)
    yield up
    for probe in PROBES.values():
        # A server that is down would only be waited for.
        if probe.gauges is not None and probe.name not in down and can_run(probe, down):
            yield from _gauges(probe)


def _gauges(probe: Probe) -> list[Metric]:
    """The gauges; none if the server is too busy for them: it is up all the same."""
    try:
        return list(probe.gauges()) if probe.gauges is not None else []
    except (DatabaseError, RedisError, OperationalError, OSError) as error:
        logger.warning("The gauges of %s are left out: %s", probe.name, error)
        return []


site_gauges = SiteGauges()


def exposition() -> bytes:
    """All metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(SharedProcesses())
    registry.register(site_gauges)
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
