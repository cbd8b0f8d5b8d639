"""The question's vector: a model that hangs costs few searches its time limit."""

from __future__ import annotations

from typing import Any

import pytest

from common.circuit_breaker import CircuitBreaker, TimedOut
from ingestion.models import EmbeddingSpace
from search.domain import Signal
from search.engine import embed

SPACE = EmbeddingSpace(pk=7)


def test_after_three_searches_a_model_that_hangs_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes: list[Any] = [TimedOut(was_sent=True)] * 3 + [[0.5], [0.25]]
    seconds = [0.0]

    def call(*_: object) -> Any:
        if isinstance(outcome := outcomes.pop(0), Exception):
            raise outcome
        return outcome, 0

    breaker = CircuitBreaker(10, failures=3, clock=lambda: seconds[0])
    monkeypatch.setitem(embed._breakers, SPACE.pk, breaker)
    monkeypatch.setattr(embed._calls, "call", call)
    for _ in range(5):
        assert embed.embed_query("pump", SPACE).degraded == (Signal.VECTOR,)
    assert len(outcomes) == 2
    seconds[0] = 11
    assert [embed.embed_query("pump", SPACE).values for _ in range(2)] == [[0.5], [0.25]]
