"""Which texts are near-duplicates: passages with small edits, and those that are merely alike."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.lexical.near_duplicates import MAX_DISTANCE, MIN_FEATURES, distance, signature

HANDOVER = """The handover of a shift begins a quarter of an hour before its end. Whoever leaves
walks the line with whoever comes, names each machine that was stopped, and says what was done
about it. Both sign the book. A machine that was stopped twice within one shift is not started
again until the fitter has looked at it, and the fitter writes the cause beside the time. Spare
parts that were used are counted and ordered on the same day, because the store keeps no more than
two of each. Nobody leaves while the alarm of the furnace is on, not even for a minute, and nobody
answers the telephone during the walk. Valid from {date}, version {version}. Questions go to the
foreman, who keeps the list of those that may sign."""
# The same subject in other words.
SHIFTS = """When one crew relieves the other, fifteen minutes are set aside for it. The two crews go
along the production line together and talk about stoppages: which machines stood still, why, and
what has been tried. A second stoppage within eight hours needs a fitter, who must find the reason
before the machine may run. Used parts are written down and bought again at once, since the store
holds two pieces of everything. During the round telephones stay silent. If the alarm of the
furnace sounds, the old crew stays until it is off. Both leaders then sign the book of the shift,
and the foreman, who keeps the names of all who may sign, answers whatever is unclear."""

CHINESE = (
    "交接班在本班结束前十五分钟开始。离岗人员和接岗人员一起走完生产线，逐一说明停过的机器以及已经采取的措施。"
    "双方在记录本上签字。同一班内停机两次的机器，必须经过钳工检查之后才能重新启动，钳工要在时间旁边写明原因。"
    "用掉的备件当天清点并订购，因为仓库每种只存两件。炉子报警的时候任何人都不得离开，巡线时也不接电话。"
)
CHINESE_ALIKE = (
    "换班的时候要留出一刻钟。两个班组沿着生产线边走边谈：哪些机器停了，为什么停，试过什么办法。"
    "八小时之内第二次停机就要请钳工来，找到原因之前机器不能开。换下来的零件马上登记，重新购买，"
    "仓库里每样东西只有两个。如果炉子响起警报，上一个班组要一直等到警报解除。最后两位班长签名。"
)


def passage(date: str = "12 March 2024", version: str = "2.4.1") -> str:
    return HANDOVER.format(date=date, version=version)


def apart(one: str, other: str) -> int:
    first, second = signature(one), signature(other)
    assert first is not None
    assert second is not None
    return distance(first, second)


@pytest.mark.parametrize(
    "edited",
    [
        passage().upper(),
        passage().replace("\n", "  \n\n").replace(". ", " – "),
        passage().replace("e", "\uff45"),
    ],
    ids=["case", "layout and punctuation", "full-width letters"],
)
def test_texts_that_look_the_same_have_the_same_signature(edited: str) -> None:
    assert signature(edited) == signature(passage())


@pytest.mark.parametrize(
    "edited",
    [
        passage(date="3 April 2025"), passage(date="2025-04-03"), passage(version="3.0.12"),
        passage(date="3 April 2025", version="2.5.0"), passage().replace("foreman", "supervisor"),
        passage() + " Printed copies are not kept up to date.", "Page 4 of 9\n" + passage(),
    ],
    ids=["date", "way of the date", "version", "both", "a word", "footer", "header"],
)  # fmt: skip
def test_small_edits_leave_near_duplicates(edited: str) -> None:
    assert apart(passage(), edited) <= MAX_DISTANCE


def test_two_passages_on_one_subject_are_no_duplicates() -> None:
    assert apart(passage(), SHIFTS) > 2 * MAX_DISTANCE
    assert apart(CHINESE, CHINESE_ALIKE) > 2 * MAX_DISTANCE


def test_order_of_words_changes_the_signature() -> None:
    words = passage().split()
    random.Random(1).shuffle(words)
    assert apart(passage(), " ".join(words)) > 2 * MAX_DISTANCE


def test_scripts_without_spaces_are_read_by_their_letters() -> None:
    assert apart(CHINESE, CHINESE.replace("十五", "二十")) <= MAX_DISTANCE
    assert apart(CHINESE, CHINESE.replace("，", "\n").replace("。", " ")) == 0


@pytest.mark.parametrize(
    "text", ["", "   ", "Yes.", "See chapter 3.", "-- * --", "\ud800"], ids=repr
)
def test_short_text_has_no_signature(text: str) -> None:
    assert signature(text) is None


def test_signature_needs_this_number_of_words() -> None:
    words = [f"word{n}" for n in range(MIN_FEATURES + 1)]
    assert signature(" ".join(words)) is not None
    assert signature(" ".join(words[:-1])) is None
    # Said twice it is as short as said once.
    assert signature(" ".join(["to", "be", "or", "not"] * 9)) is None


def test_signature_of_a_text_never_changes() -> None:
    """It lies in databases: another way to compute it needs a migration that fills them anew."""
    assert signature(passage()) == -8630999247355967528


@given(st.text(max_size=400))
def test_any_text_has_a_signature_that_fits_the_column_or_none(text: str) -> None:
    found = signature(text)
    assert found is None or -(2**63) <= found < 2**63
    assert found == signature(text)
