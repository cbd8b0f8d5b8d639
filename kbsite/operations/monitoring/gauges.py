"""The gauges of all probes: the open jobs, the queues, the servers behind the site, the disks.

Three statements and one round trip to the queues, at most once in CACHED seconds, whoever scrapes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator

from django.db import DatabaseError
from kombu.exceptions import OperationalError
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from common.database import released
from common.probes import PROBES, Probe, can_run

logger = logging.getLogger(__name__)

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
    up = GaugeMetricFamily(
        "steelyard_server_up", "Whether a server behind the site answers.", labels=["server"]
    )
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
