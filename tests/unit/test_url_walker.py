"""Which parameters of an address were read, however one may read them."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from django.http import QueryDict

from tests.support.url_walker import EVERYTHING, NotedQuery


@pytest.mark.parametrize(
    "reading",
    [
        list, dict, len, bool, copy.copy, copy.deepcopy,
        lambda query: {**query}, lambda query: query.items(), lambda query: query.values(),
        lambda query: query.keys(), lambda query: query.lists(), lambda query: query.dict(),
        lambda query: query.urlencode(), lambda query: query.copy(), lambda query: set(query),
        lambda query: {**query.dict()}, lambda query: query | {}, lambda query: query == {},
    ],
)  # fmt: skip
def test_whoever_goes_through_them_reads_all(reading: Callable[[QueryDict], object]) -> None:
    query = NotedQuery("q=one")
    for _ in reading(query) if hasattr(reading(query), "__next__") else ():
        pass
    assert EVERYTHING in query.read
