"""Qdrant's client against a server of the tests' own: what is sent, and what fails."""

from __future__ import annotations

import json
from typing import Any

import pytest

from search.parts.qdrant.points import TERMS, EngineError, PointQuery, Sparse
from tests.support.fake_openai import Behaviour, JSONServer, Reply, dropped, garbage, status

ASK = PointQuery(TERMS, Sparse([1, 7], [1.0, 0.5]), 3, [2, 4], ids=[5])
FOUND = {"result": [{"points": [{"id": 5, "version": 1, "score": 1.5}]}], "status": "ok", "time": 0}


class FakeQdrant(JSONServer):
    """A server that finds one point, unless it misbehaves."""

    def __init__(self, *script: Behaviour) -> None:
        super().__init__(*script)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> Reply:
        with self._lock:
            self.asked.append((path, body))
            behaviour = self._next(lambda request: Reply(json.dumps(FOUND).encode()))
        reply = behaviour(body)  # type: ignore[arg-type]
        self._stopping.wait(reply.delay)
        return reply


def engine_at(url: str) -> Any:
    # Imported when it is needed: it takes a second of every process that collects.
    from search.parts.qdrant.client import ClientEngine

    return ClientEngine.at(url, seconds=1)


def late(seconds: float) -> Behaviour:
    return lambda request: Reply(json.dumps(FOUND).encode(), delay=seconds)


@pytest.mark.parametrize("behaviour", [status(503), status(404), dropped(), garbage(), late(5)])
def test_every_failure_is_an_engine_error(behaviour: Behaviour) -> None:
    with FakeQdrant(behaviour) as server:
        engine = engine_at(server.base)
        with pytest.raises(EngineError, match="Qdrant"):
            engine.ask("kb", [ASK])
        assert engine.ask("kb", [ASK]) == [[(5, 1.5)]]


def test_unreachable_engine_is_an_engine_error() -> None:
    with pytest.raises(EngineError):
        engine_at("http://127.0.0.1:9").count("kb")


def test_requests_match_the_documentation_of_qdrant() -> None:
    with FakeQdrant() as server:
        engine_at(server.base).ask("kb", [ASK])
    ((path, body),) = server.asked
    assert path == "/collections/kb/points/query/batch"
    (sent,) = body["searches"]
    assert sent == {
        "query": {"nearest": {"indices": [1, 7], "values": [1.0, 0.5]}},
        "using": "terms",
        "limit": 3,
        "filter": {"must": [{"key": "collection", "match": {"any": [2, 4]}}, {"has_id": [5]}]},
    }
