"""The clients of rerankers against a server that misbehaves, over real HTTP (S5-38, R16)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from search.errors import RerankerUnavailable
from search.parts.reranker.http import HttpReranker, strengths_of
from search.parts.reranker.protocol import Kind, RerankerConfig
from search.ranking.rerank import RerankerInput
from tests.support.fake_reranker import (
    Behaviour,
    FakeReranker,
    Reply,
    dropped,
    raw,
    said,
    status,
    tei,
)

QUERY = "high water"
PASSAGES = [
    RerankerInput(11, "Bread rises."),
    RerankerInput(12, "High water comes twice a day."),
    RerankerInput(13, "The water is wide."),
]


def asked(server: FakeReranker, kind: Kind = Kind.COHERE, **options: object) -> Sequence[float]:
    config = RerankerConfig(kind, server.url, **options)  # type: ignore[arg-type]
    return HttpReranker(config).strengths(QUERY, PASSAGES, seconds=2)


class TestShapes:
    def test_request_format_of_cohere_and_jina_is_used(self) -> None:
        with FakeReranker() as server:
            found = asked(server, model="reranker-3", api_key="secret")
        assert found == [0.0, 1.0, 0.5]
        assert server.requests == [
            {
                "model": "reranker-3",
                "query": QUERY,
                "documents": [each.text for each in PASSAGES],
                "top_n": 3,
            }
        ]
        assert server.keys == ["Bearer secret"]

    def test_request_format_of_text_embeddings_inference_is_used(self) -> None:
        with FakeReranker(shape=tei) as server:
            assert asked(server, Kind.TEI) == [0.0, 1.0, 0.5]
        assert set(server.requests[0]) == {"query", "texts", "raw_scores", "truncate"}
        assert server.keys == [""]

    def test_both_response_formats_are_read(self) -> None:
        with FakeReranker(shape=tei) as server:
            assert asked(server, Kind.COHERE) == [0.0, 1.0, 0.5]

    def test_scores_that_are_no_probabilities_are_refused(self) -> None:
        with (
            FakeReranker(score=lambda query, text: -5.0 if "Bread" in text else 0.0) as server,
            pytest.raises(RerankerUnavailable, match="between 0 and 1"),
        ):
            asked(server)

    def test_scores_are_clipped_to_the_unit_interval(self) -> None:
        assert strengths_of([1.0000001, -0.0000001]) == [1.0, 0.0]


def rows(*pairs: tuple[object, object]) -> object:
    return {"results": [{"index": i, "relevance_score": score} for i, score in pairs]}


UNUSABLE = {
    "not JSON": raw(b"<html>502 Bad Gateway</html>"),
    "not UTF-8": raw(b"\xff\xfe\x00"),
    "nested too deep": raw(b"[" * 100_000),
    "another object": said({"error": "no"}),
    "null": said(None),
    "no score": said({"results": [{"index": 0}, {"index": 1}, {"index": 2}]}),
    "too few": said(rows((0, 0.1), (1, 0.2))),
    "wrong index": said(rows((0, 0.1), (1, 0.2), (3, 0.3))),
    "negative index": said(rows((0, 0.1), (1, 0.2), (-1, 0.3))),
    "index twice": said(rows((0, 0.1), (1, 0.2), (1, 0.3))),
    "NaN": said(rows((0, 0.1), (1, float("nan")), (2, 0.3))),
    "beyond a float": raw(json.dumps(rows((0, 1), (1, 2), (2, 10**400))).encode()),
    "score as truth": said(rows((0, True), (1, 0.2), (2, 0.3))),
    "endless": raw(b" " * 5_000_000),
}


@pytest.mark.parametrize("behaviour", UNUSABLE.values(), ids=UNUSABLE)
def test_incomplete_response_is_refused(behaviour: Behaviour) -> None:
    with FakeReranker(behaviour) as server:
        with pytest.raises(RerankerUnavailable):
            asked(server)
        assert asked(server) == [0.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("behaviour", "retry_after", "is_final", "message"),
    [
        pytest.param(status(500), None, False, "", id="error"),
        pytest.param(status(429, retry_after="7"), 7.0, False, "", id="too many requests"),
        pytest.param(status(503, retry_after="soon"), None, False, "", id="unreadable pause"),
        pytest.param(status(401), None, True, "", id="wrong key"),
        pytest.param(status(404), None, True, "", id="wrong address"),
        pytest.param(status(307, location="http://127.0.0.1:1/"), None, False, "", id="redirect"),
        pytest.param(dropped(), None, False, "", id="closed connection"),
        pytest.param(lambda request: Reply(b"{}", delay=20), None, False, "in time", id="silence"),
        pytest.param(
            lambda request: Reply(b" " * 200, drip=0.1), None, False, "in time", id="byte by byte"
        ),
    ],
)
def test_a_failing_server_is_unavailable_in_time(
    behaviour: Behaviour, retry_after: float | None, is_final: bool, message: str
) -> None:
    with FakeReranker(behaviour) as server:
        reranker = HttpReranker(RerankerConfig(Kind.COHERE, server.url))
        with pytest.raises(RerankerUnavailable) as raised:
            reranker.strengths(QUERY, PASSAGES, seconds=1.5)
    assert message in str(raised.value)
    assert (raised.value.retry_after, raised.value.is_final) == (retry_after, is_final)


def test_the_key_is_in_no_message() -> None:
    config = RerankerConfig(Kind.COHERE, "http://me:secret@127.0.0.1:1/rerank", api_key="secret")
    with pytest.raises(RerankerUnavailable) as raised:
        HttpReranker(config).strengths(QUERY, PASSAGES, seconds=1)
    assert "secret" not in f"{raised.value} {config.fingerprint}"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"url": "localhost:8080"}, "RERANKER_URL", id="no scheme"),
        pytest.param({"url": "http:///rerank"}, "RERANKER_URL", id="no host"),
        pytest.param({"kind": Kind.FASTEMBED}, "names no model", id="no model"),
    ],
)
def test_settings_that_describe_no_reranker_are_refused(
    options: dict[str, object], says: str
) -> None:
    given = {"kind": Kind.COHERE, "url": "http://localhost/rerank"} | options
    with pytest.raises(ValueError, match=says):
        RerankerConfig(**given)  # type: ignore[arg-type]
