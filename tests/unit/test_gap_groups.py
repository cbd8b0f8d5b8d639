"""What makes two failed searches mean the same, so that they are one content gap."""

from __future__ import annotations

import numpy as np
import pytest

from search.analytics.failed_search_detection import nearest_group, shares_words

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]


def test_distance_to_a_group_is_the_mean_of_its_members() -> None:
    members = np.array([EAST, NORTH, [0.9, 0.436]], dtype=np.float32)
    asked = [0.995, 0.0995]

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
def test_nearest_group_is_found(
    asked: list[float], members: list[list[float]], groups: list[int], nearest: int | None
) -> None:
    assert nearest_group(asked, np.array(members, np.float32), groups) == nearest


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
def test_rephrased_queries_share_words(one: str, other: str, same: bool) -> None:
    assert shares_words(one, other) is same
