"""Synonyms of a query's words, and what makes two queries the same, or mean the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.analytics.failed_search_detection import nearest_group, shares_words, unit
from search.query.query_key import MAX_KEY, pins_for, query_key
from search.query.synonyms import SynonymGroup, Synonyms, expansions, fold_query

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
def test_no_text_is_too_odd(text: str, terms: list[str]) -> None:
    for found in expanded(text, SynonymGroup(tuple(terms))):
        assert found in terms


def test_pins_are_for_just_this_question() -> None:
    pins = {"annual leave": (3, 1)}
    assert pins_for("  Annual LEAVE ", pins) == (3, 1)
    assert pins_for("annual leave form", pins) == ()


def test_the_key_of_a_query_fits_into_an_index() -> None:
    assert query_key("  The Pump ") == "the pump"
    keys = [query_key("word " * 700 + end) for end in ("", "a", "A", "b")]
    assert len(set(keys)) == 3
    assert all(len(key) <= MAX_KEY for key in keys)


EAST, NORTH = [1.0, 0.0], [0.0, 1.0]


def test_a_group_is_as_near_as_its_members_on_average() -> None:
    members = np.array([EAST, NORTH, unit([0.9, 0.436])], dtype=np.float32)
    asked = unit([1.0, 0.1])

    # East alone: .995. The other group: (.100 + .939) / 2 = .519.
    assert nearest_group(asked, members, [7, 3, 3], at_least=0.9) == 7
    assert nearest_group(asked, members[1:], [3, 3], at_least=0.51) == 3
    assert nearest_group(asked, members[1:], [3, 3], at_least=0.53) is None


@pytest.mark.parametrize(
    ("asked", "members", "groups", "nearest"),
    [
        (EAST, [EAST, EAST], [9, 4], 4),
        (EAST, np.empty((0, 2)), [], None),
        ([0.0, 0.0], [EAST], [1], None),
    ],
    ids=["of equally near ones the oldest", "no groups yet", "the zero vector"],
)
def test_the_nearest(
    asked: list[float], members: list[list[float]], groups: list[int], nearest: int | None
) -> None:
    assert nearest_group(unit(asked), np.array(members, np.float32), groups) == nearest


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("vpn setup", "vpn setup guide", True),
        ("reset password", "how to reset a password", True),
        ("vpn setup", "printer setup", False),
        ("", "", False),
        ("?", "!", False),
    ],
)
def test_words_in_common(one: str, other: str, same: bool) -> None:
    assert shares_words(one, other) is same
