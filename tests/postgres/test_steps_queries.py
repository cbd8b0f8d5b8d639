"""A document costs the database as many questions whatever number of passages it has."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.documents import steps
from ingestion.models import Chunk
from tests.support.factories import make_collection, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def queries_for(sections: int) -> int:
    """How many statements it takes to process a note of so many long sections."""
    parts = [f"## Part {n}\n\n" + "The pump is green and quiet. " * 30 for n in range(sections)]
    version = upload(make_collection(f"{sections}"), "\n\n".join(parts)).version
    with CaptureQueriesContext(connection) as queries:
        assert steps.advance(version.pk)
    assert Chunk.objects.filter(version=version).count() >= sections
    return len(queries)


def test_ten_passages_take_no_more_queries_than_two() -> None:
    queries_for(1)  # the first document makes the embedding space
    assert queries_for(10) == queries_for(2)
