"""The circuit breaker and the calls with a time limit that guard all models and servers."""

from __future__ import annotations

import threading

import pytest

from common.guarded import CircuitBreaker, TimedOut, TimeLimited


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TestCircuitBreaker:
    def test_calls_no_more_after_failures_until_a_pause_is_over(self) -> None:
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

    def test_one_failure_between_successes_pauses_nothing(self) -> None:
        circuit = CircuitBreaker(30, 3)
        for _ in range(5):
            circuit.trip()
            assert circuit.enter() == 0
            circuit.reset()

    @pytest.mark.parametrize(
        ("asked_for", "is_final", "pause"), [(45.0, False, 45), (0.0, True, 30), (10.0, True, 30)]
    )
    def test_pauses_at_once_for(self, asked_for: float, is_final: bool, pause: float) -> None:
        clock = Clock()
        circuit = CircuitBreaker(30, 3, clock)
        circuit.trip(asked_for, is_final=is_final)
        clock.now = pause - 0.1
        assert circuit.enter() > 0
        clock.now = pause
        assert circuit.enter() == 0

    def test_a_failed_try_pauses_again(self) -> None:
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
        assert 4 < calls.call(lambda left: left, 5) <= 5
        with pytest.raises(TimeoutError, match="its own"):
            calls.call(_raise, 5)

    def test_what_waits_for_a_thread_is_never_sent(self) -> None:
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
        calls.call(work, 0.3)  # type: ignore[arg-type]
    except TimedOut as late:
        sent += ["the first was sent"] if late.was_sent else []
