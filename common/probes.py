"""The one list of probes: whether each part of the site works, and what to do if it does not.

Whoever adds something that can fail registers a probe. `manage.py doctor` prints the findings of
all, `manage.py check` those of an `Occasion`, `/health/` asks those that are `alive`, and
`/metrics` exports their gauges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily


class State(StrEnum):
    """Whether something works, deserves a look, or must be mended."""

    OK = "ok"
    LOOK = "look"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about one thing; `advice` says what to do, and is empty if all is well.

    `check` is the id of a system check without its prefix: W045.
    """

    state: State
    text: str
    advice: str = ""
    check: str = ""
    name: str = ""


def ok(text: str) -> Finding:
    return Finding(State.OK, text)


def look(text: str, advice: str, check: str = "") -> Finding:
    return Finding(State.LOOK, text, advice, check)


def wrong(text: str, advice: str, check: str = "") -> Finding:
    return Finding(State.WRONG, text, advice, check)


class Occasion(StrEnum):
    """Who runs a probe. All but the doctor's are system checks, which the doctor runs as such."""

    DOCTOR = "doctor"
    SETTINGS = "every command: contacts nothing"
    DEPLOYMENT = "check --deploy: contacts nothing"
    ROWS = "migrate, check --database"
    DEPLOYED_ROWS = "check --deploy --database"


@dataclass(frozen=True, slots=True)
class Probe:
    """`examine` yields findings, unless `needs`, the name of another probe, is wrong.

    `alive` is a quick test of a server, for load balancers; `start` says what to do if it fails.
    What is not `vital` may fail without the site being unavailable.
    """

    name: str
    examine: Callable[[], Iterable[Finding]]
    occasion: Occasion = Occasion.DOCTOR
    needs: str = ""
    alive: Callable[[], object] | None = None
    start: str = ""
    vital: bool = True
    gauges: Callable[[], Iterable[Metric]] | None = None

    def run(self) -> Iterator[Finding]:
        """Yield the findings; an error of the probe itself is one."""
        try:
            if self.vital and self.alive is not None and not self.alive():
                yield wrong("does not answer", self.start)
            else:
                yield from self.examine()
        except Exception as error:
            text = f"could not be examined: {type(error).__name__}: {error}"
            yield wrong(text, "Look at the log.")


def gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    """A gauge without values yet."""
    return GaugeMetricFamily(f"steelyard_{name}", text, labels=labels)


PROBES: dict[str, Probe] = {}

Examine = Callable[[], Iterable[Finding]]


def register(
    name: str,
    occasion: Occasion = Occasion.DOCTOR,
    *,
    needs: str = "",
    alive: Callable[[], object] | None = None,
    start: str = "",
    vital: bool = True,
    gauges: Callable[[], Iterable[Metric]] | None = None,
) -> Callable[[Examine], Examine]:
    """Decorate the function that examines: add a probe of this name, in place of an earlier one."""

    def add(examine: Examine) -> Examine:
        PROBES[name] = Probe(name, examine, occasion, needs, alive, start, vital, gauges)
        return examine

    return add


def of(occasion: Occasion) -> list[Probe]:
    """Return the probes of this occasion, in the order in which they were registered."""
    return [probe for probe in PROBES.values() if probe.occasion is occasion]


def can_run(probe: Probe, down: set[str]) -> bool:
    """Whether none of the probes that it needs, directly or through others, is in `down`."""
    return not probe.needs or (probe.needs not in down and can_run(PROBES[probe.needs], down))


def examine() -> Iterator[Finding]:
    """Yield the findings of the doctor's probes; what needs a part that is wrong is left out."""
    down: set[str] = set()
    for probe in sorted(of(Occasion.DOCTOR), key=_depth):
        if not can_run(probe, down):
            continue
        for finding in probe.run():
            if finding.state is State.WRONG:
                down.add(probe.name)
            yield replace(finding, name=probe.name)


def _depth(probe: Probe) -> int:
    """How many probes come before this one: 0 if it needs none."""
    return 1 + _depth(PROBES[probe.needs]) if probe.needs else 0
