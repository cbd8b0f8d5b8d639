"""Which questions mean the same: average linkage over cosines, and words in common."""

from __future__ import annotations

import numpy as np
import pytest

from search.analytics.gathering import nearest_group, shares_words, unit

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]


def test_a_group_is_as_near_as_its_members_on_average() -> None:
    members = np.array([EAST, NORTH, unit([0.9, 0.436])], dtype=np.float32)
    asked = unit([1.0, 0.1])

    # East alone: .995. The other group: (.100 + .939) / 2 = .519.
    assert nearest_group(asked, members, [7, 3, 3], at_least=0.9) == 7
    assert nearest_group(asked, members[1:], [3, 3], at_least=0.51) == 3
    assert nearest_group(asked, members[1:], [3, 3], at_least=0.53) is None


def test_of_equally_near_groups_the_oldest() -> None:
    members = np.array([EAST, EAST], dtype=np.float32)
    assert nearest_group(unit(EAST), members, [9, 4]) == 4


def test_no_groups_yet() -> None:
    assert nearest_group(unit(EAST), np.empty((0, 2), dtype=np.float32), []) is None


def test_the_zero_vector_is_near_nothing() -> None:
    members = np.array([EAST], dtype=np.float32)
    assert nearest_group(unit([0.0, 0.0]), members, [1]) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("vpn setup", "vpn setup guide", True),
        ("reset password", "how to reset a password", True),
        ("vpn setup", "printer setup", False),
        ("vpn", "holidays", False),
        ("", "", False),
        ("?", "!", False),
    ],
)
def test_words_in_common(one: str, other: str, same: bool) -> None:
    assert shares_words(one, other) is same
