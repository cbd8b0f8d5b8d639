"""A provider of embeddings that misbehaves, over real HTTP: time is lost, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from django.utils import timezone
from pytest import approx

from ingestion import services, spaces
from ingestion.documents import steps
from ingestion.models import ChunkEmbedding, Document, DocumentVersion, State
from tests.faults.harness import NOTE, assert_nothing_lost_or_doubled, finished, let_time_pass
from tests.support.factories import make_collection, make_document, upload
from tests.support.fake_openai import (
    Behaviour,
    FakeOpenAI,
    dropped,
    filled_with,
    garbage,
    half,
    hang,
    status,
    wrong_dimension,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "short_leases"),
]

FIRST = "# Doors\n\nThe north door has no pump."


@pytest.fixture
def provider(settings: object) -> Iterator[FakeOpenAI]:
    """A server that embeds, and is told by the tests how to fail."""
    with FakeOpenAI() as server:
        settings.EMBEDDER = "openai"  # type: ignore[attr-defined]
        settings.EMBEDDER_OPTIONS = {  # type: ignore[attr-defined]
            "openai": {
                "base_url": server.base_url,
                "api_key": "key",
                "model": "m",
                "attempts": 1,
                "timeout": 1.0,
            }
        }
        spaces.forget_embedders()
        try:
            yield server
        finally:
            spaces.forget_embedders()


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(status(429, retry_after="2"), id="429 with Retry-After"),
        pytest.param(status(500), id="500"),
        pytest.param(dropped(), id="connection dropped"),
        pytest.param(hang(30), id="nothing for half a minute"),
        pytest.param(garbage(), id="an HTML page"),
        pytest.param(wrong_dimension(5), id="wrong dimension"),
        pytest.param(filled_with(math.nan), id="NaN"),
        pytest.param(half(), id="half a batch"),
    ],
)
def test_a_bad_answer_costs_time_only(provider: FakeOpenAI, behaviour: Behaviour) -> None:
    collection = make_collection()
    make_document(collection, FIRST, file_name="a.md")
    provider.then(behaviour)
    late = make_document(collection, NOTE, file_name="b.md")

    version = DocumentVersion.objects.get(document=late)
    assert version.state in (State.EMBEDDING, State.FAILED)
    assert version.error
    assert version.chunk_count > 2 or version.state == State.FAILED
    assert not ChunkEmbedding.objects.filter(chunk__document=late).exists()

    if version.state == State.FAILED:
        services.retry([late], acting_user=None)
    let_time_pass()
    steps.advance(version.pk)
    assert finished()
    assert_nothing_lost_or_doubled(documents=2)
    for held in ChunkEmbedding.objects.all():
        assert math.fsum(x * x for x in held.vector) == approx(1, abs=0.01)


def test_a_provider_that_asks_for_patience_gets_it(provider: FakeOpenAI) -> None:
    make_document(make_collection(), FIRST, file_name="a.md")
    provider.then(status(429, retry_after="120"))
    asked = len(provider.requests)
    late = make_document(make_collection("Other"), NOTE, file_name="b.md")
    version = DocumentVersion.objects.get(document=late)
    assert version.not_before is not None
    assert (version.not_before - timezone.now()).total_seconds() > 110
    # Nobody asks before that.
    assert steps.advance(version.pk) is False
    assert len(provider.requests) == asked + 1


def test_an_outage_of_many_attempts_is_no_crash(provider: FakeOpenAI) -> None:
    """Ten failures in a row are still the provider's, and fail no document."""
    collection = make_collection()
    make_document(collection, FIRST, file_name="a.md")
    provider.then(*[status(503)] * 10)
    version = upload(collection, NOTE, file_name="b.md").version
    for _ in range(10):
        let_time_pass()
        assert steps.advance(version.pk) is False
    let_time_pass()
    assert steps.advance(version.pk) is True
    assert Document.objects.filter(current__state=State.READY).count() == 2
    assert_nothing_lost_or_doubled()
