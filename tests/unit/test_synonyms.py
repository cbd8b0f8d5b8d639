"""Synonyms of a query's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.query.query_key import fold_query
from search.query.synonyms import SynonymGroup, Synonyms, expansions

GROUPS = (
    SynonymGroup(("FK", "forward kinematics")),
    SynonymGroup(("vehicle", "lorry", "truck"), one_way=True),
    SynonymGroup(("C++", "cpp")),
)


def expanded(text: str, *groups: SynonymGroup) -> tuple[str, ...]:
    return expansions(text, Synonyms.of(groups or GROUPS))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("explain fk", ("forward kinematics",), id="one word, any case"),
        pytest.param("Forward  Kinematics", ("FK",), id="a phrase, any spacing"),
        pytest.param("vehicle tax", ("lorry", "truck"), id="one way"),
        pytest.param("lorry tax", (), id="not the other way"),
        pytest.param("a fkx", (), id="whole words only"),
        pytest.param("c++ templates", ("cpp",), id="signs"),
        pytest.param("FK or forward kinematics", (), id="says both already"),
    ],
)
def test_s3_07_a_query_is_expanded_by_the_synonyms_of_its_words(
    text: str, found: tuple[str, ...]
) -> None:
    assert expanded(text) == found


def test_the_longest_phrase_is_read_first() -> None:
    groups = (SynonymGroup(("forward", "ahead")), SynonymGroup(("forward kinematics", "FK")))
    assert expanded("forward kinematics", *groups) == ("FK",)


@given(st.text(), st.lists(st.text(min_size=1), min_size=2, max_size=4, unique_by=fold_query))
def test_expansions_of_any_text_are_given_terms(text: str, terms: list[str]) -> None:
    for found in expanded(text, SynonymGroup(tuple(terms))):
        assert found in terms
