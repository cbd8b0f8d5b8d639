"""Which parameters of an address were read, however one may read them."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from django.http import QueryDict

from tests.support.url_walker import EVERYTHING, Answer, NotedQuery


@pytest.mark.parametrize(
    ("reading", "read"),
    [
        (lambda query: None, set()),
        (lambda query: query.get("q"), {"q"}),
        (lambda query: query.get("r", ""), {"r"}),
        (lambda query: query["q"], {"q"}),
        (lambda query: "page" in query, {"page"}),
        (lambda query: query.getlist("id"), {"id"}),
    ],
)
def test_what_is_read_by_name(reading: Callable[[QueryDict], object], read: set[str]) -> None:
    query = NotedQuery("q=one&id=1&id=2")
    reading(query)
    assert query.read == read


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


def test_a_parameter_is_refused_by_name_alone() -> None:
    none = '{"errors": {"q": ["There is no such parameter. Known are: page."]}}'
    wrong = '{"errors": {"page": ["Enter a whole number."]}}'
    asked = {"q": "a", "page": "2"}
    assert Answer(400, (), none).refuses(asked) == {"q"}
    assert Answer(400, (), wrong).refuses(asked) == set()
    assert Answer(200, (), none).refuses(asked) == set()
