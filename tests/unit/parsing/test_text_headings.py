"""The headings of plain text, and what resembles them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.parsing.formats.text_headings import headings

from .conftest import Parse
from .shorthand import h, p

UNDERLINED = """Balance 2.1
***********

A balance.

1 Overview
**********

It weighs.

1.1 Größe
=========
Two metres.
"""
NUMBERED = """1. Scope

These rules hold for all scales.

1.1 Scales in shops

They are checked:

1. Each year

2. After repairs.

2. Fees

A check costs 40 euros.
"""


def _named(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in headings(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (UNDERLINED, [(1, "Balance 2.1"), (1, "1 Overview"), (2, "1.1 Größe")]),
        (NUMBERED, [(1, "1. Scope"), (2, "1.1 Scales in shops"), (1, "2. Fees")]),
    ],
    ids=["underlined", "numbered"],
)
def test_headings_of_a_pattern(text: str, expected: list[tuple[int, str]]) -> None:
    assert _named(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "TO ALL OF YOU\n\nI SAID IT TWICE. NOBODY LISTENED.\n\nWHERE IS MY SCALE?\n\nBo\n",
        "NO WARRANTY\n\n  BECAUSE IT IS FREE.\n\nOther terms apply.\n\nEND\n\n  X\n",
        "HAMLET\n  To be.\n\nHORATIO\n  My lord.\n\nKING\n  Why?\n" * 3,
        "Name    Fee\n-----------\nAnn     40\n",
        "a long line of a letter\n-----\nBo Lund\n",
        "Read this.\nA line that runs on\n-------------------\n",
        "1. Open the lid\n\n2. Turn the key\n\n3. Wait\n",
        "3. Weights\n\nText.\n\n7. Beams\n\nText.\n\n9. Hooks\n\nText.\n",
        "1. Open the lid.\n\nText.\n\n2. Wait.\n\nText.\n\n3. Close it.\n\nText.\n",
    ],
    ids=[
        "shouting", "contract", "play", "table", "signature", "rule", "list", "figures", "steps",
    ],
)  # fmt: skip
def test_text_that_resembles_headings(text: str) -> None:
    assert _named(text) == []


@given(st.text(alphabet="aB1. \n\t=-", max_size=80))
def test_headings_are_in_order_and_apart(text: str) -> None:
    end = 0
    for heading in headings(text):
        assert end <= heading.start < heading.end <= len(text)
        assert text[heading.start : heading.end].strip().startswith(heading.text)
        end = heading.end


def test_text_below_a_heading_is_its_section(parse: Parse) -> None:
    assert parse(UNDERLINED, "weigh.txt").blocks == (
        h(1, "Balance 2.1"),
        p("A balance."),
        h(1, "1 Overview"),
        p("It weighs."),
        h(2, "1.1 Größe"),
        p("Two metres."),
    )
