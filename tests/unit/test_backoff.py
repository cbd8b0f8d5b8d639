"""Pauses between attempts, and the Retry-After header."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.guarded import LONGEST, pause, retry_after


@pytest.mark.parametrize(
    ("attempts", "asked", "seconds"),
    [
        (0, None, 5), (1, None, 10), (3, None, 40), (7, None, 600), (99, None, 600),
        (0, 2, 5), (0, 120, 120), (2, 20, 20), (0, 7200, 3600),
    ],
)  # fmt: skip
def test_pauses_double_and_give_a_server_its_time(
    attempts: int, asked: float | None, seconds: float
) -> None:
    assert pause(attempts, asked) == timedelta(seconds=seconds)


@given(attempts=st.integers(0, 1_000))
def test_a_further_failure_never_shortens_the_pause(attempts: int) -> None:
    assert pause(attempts) <= pause(attempts + 1) <= LONGEST


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("", None),
        (None, None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
    ],
)
def test_the_header_says_seconds_or_a_date_or_nothing(
    header: str | None, seconds: float | None
) -> None:
    assert retry_after(header) == seconds


@pytest.mark.parametrize("usegmt", [True, False])
def test_a_date_to_come_is_so_many_seconds_away(usegmt: bool) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=90)
    assert retry_after(format_datetime(moment, usegmt=usegmt)) == pytest.approx(90, abs=2)


@given(st.text(max_size=60))
def test_no_header_is_an_error(header: str) -> None:
    seconds = retry_after(header)
    assert seconds is None or seconds >= 0
