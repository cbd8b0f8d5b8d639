"""What guards models and servers: the circuit breaker, time limits, pauses between attempts."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.circuit_breaker import CircuitBreaker, TimedOut, TimeLimited
from common.retries import LONGEST, pause, retry_after


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TestCircuitBreaker:
    def test_breaker_makes_no_calls_during_the_pause(self) -> None:
        clock = Clock()
        circuit = CircuitBreaker(30, 3, clock)
        for _ in range(3):
            assert circuit.enter() == 0
            circuit.trip()
        assert circuit.enter() == 30
        assert circuit.is_open
        clock.now = 30
        assert circuit.enter() == 0  # this one tries
        assert circuit.enter() == 30  # the others wait for its outcome
        circuit.reset()
        assert circuit.enter() == circuit.enter() == 0

    @pytest.mark.parametrize(
        ("asked_for", "is_final", "pause"), [(45.0, False, 45), (0.0, True, 30), (10.0, True, 30)]
    )
    def test_breaker_opens_at_once_for_these_errors(
        self, asked_for: float, is_final: bool, pause: float
    ) -> None:
        clock = Clock()
        circuit = CircuitBreaker(30, 3, clock)
        circuit.trip(asked_for, is_final=is_final)
        clock.now = pause - 0.1
        assert circuit.enter() > 0
        clock.now = pause
        assert circuit.enter() == 0

    def test_failed_trial_call_pauses_again(self) -> None:
        clock = Clock()
        circuit = CircuitBreaker(30, 3, clock)
        for _ in range(3):
            circuit.trip()
        clock.now = 31
        assert circuit.enter() == 0
        circuit.trip()
        clock.now = 60
        assert circuit.enter() > 0


class TestTimeLimited:
    def test_returns_or_raises_what_the_work_does(self) -> None:
        calls = TimeLimited("test", 1)
        assert 500 < calls.call(lambda left: left, 600) <= 600
        with pytest.raises(TimeoutError, match="its own"):
            calls.call(_raise, 5)

    def test_call_that_waits_for_a_thread_is_never_sent(self) -> None:
        calls = TimeLimited("test", 1)
        held, over = threading.Event(), threading.Event()
        sent: list[str] = []

        def hang(_left: float) -> None:
            held.set()
            over.wait()

        first = threading.Thread(target=lambda: _timed_out(calls, hang, sent))
        first.start()
        held.wait()
        with pytest.raises(TimedOut) as late:
            calls.call(lambda _left: sent.append("second"), 0.1)
        assert not late.value.was_sent
        first.join()
        over.set()
        assert calls.call(lambda _left: "free", 5) == "free"
        assert sent == ["the first was sent"]


def _raise(_left: float) -> None:
    raise TimeoutError("its own")


def _timed_out(calls: TimeLimited, work: object, sent: list[str]) -> None:
    try:
        calls.call(work, 2.0)  # type: ignore[arg-type]
    except TimedOut as late:
        sent += ["the first was sent"] if late.was_sent else []


@pytest.mark.parametrize(
    ("attempts", "asked", "seconds"),
    [
        (0, None, 5), (1, None, 10), (3, None, 40), (7, None, 600), (99, None, 600),
        (0, 2, 5), (0, 120, 120), (2, 20, 20), (0, 7200, 3600),
    ],
)  # fmt: skip
def test_pauses_double_and_respect_retry_after(
    attempts: int, asked: float | None, seconds: float
) -> None:
    assert pause(attempts, asked) == timedelta(seconds=seconds)


@given(attempts=st.integers(0, 1_000))
def test_a_further_failure_never_shortens_the_pause(attempts: int) -> None:
    assert pause(attempts) <= pause(attempts + 1) <= LONGEST


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0), ("1.5", 1.5), ("-3", 0.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("", None),
        (None, None), ("soon", None), ("nan", None), ("inf", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_a_date_or_nothing(
    header: str | None, seconds: float | None
) -> None:
    assert retry_after(header) == seconds


@pytest.mark.parametrize("usegmt", [True, False])
def test_retry_after_date_becomes_seconds(usegmt: bool) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=90)
    assert retry_after(format_datetime(moment, usegmt=usegmt)) == pytest.approx(90, abs=2)


@given(st.text(max_size=60))
def test_any_retry_after_header_is_read_without_an_error(header: str) -> None:
    seconds = retry_after(header)
    assert seconds is None or seconds >= 0
