"""Figures in their spellings: which bear out which."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.answers.checking.figures import Figure, same
from search.answers.checking.spellings import figures

SAME = [
    ("1,000", "1000"), ("1 000", "1000"), ("1.000", "1000"), ("1'000", "1,000"), ("two", "2"),
    ("twenty-five", "25"), ("two hundred and six", "206"), ("one thousand", "1,000"),
    ("fünfundzwanzig", "25"), ("zwei", "2"), ("1.5 million", "1,500,000"), ("a dozen", "12"),
    ("50%", "50 percent"), ("50 per cent", "50%"), ("50%", "half of it"), ("10,5 Prozent", "10.5%"),
    ("5 s", "five seconds"), ("60 s", "1 minute"), ("5 min", "five-minute"), ("4 GB", "4000 MB"),
    ("$5", "5 dollars"), ("US$3", "3 USD"), ("EUR 20", "20 euros"), ("2 km", "2,000 metres"),
    ("3rd", "the third"), ("twenty-first", "21st"), ("three times", "twice or thrice"),
    ("12 March 2024", "March 12, 2024"), ("2024-03-12", "12.03.2024"),
    ("12. März 2024", "12/03/2024"),
    ("12 March", "12 March 2024"), ("March 2024", "12 March 2024"), ("2024", "12 March 2024"),
    ("3 pm", "15:00"), ("15 Uhr", "3 p.m."), ("8:05", "8:05 am"), ("5 to 10 GB", "5 GB, and 10 GB"),
    ("5-10 s", "5 s and 10 seconds"), ("two thirds of", "two-thirds"), ("a third to", "one third"),
    ("−5 °C", "-5 °C"), ("1990s", "the 1990s"), ("5", "5 seconds"), ("80 km/h", "80 km/h"),
]  # fmt: skip
OTHER = [
    ("five", "15"), ("1.5", "15"), ("1.5", "1.05"), ("4 GB", "4 MB"), ("4 Mb", "4 MB"),
    ("5 seconds", "5 minutes"), ("5 percentage points", "5 percent"), ("50", "50%"),
    ("2.1", "2.10"), ("12 March 2024", "12 March 2023"), ("12 March", "12 May"),
    ("March 12", "March"),
    ("12 March 2024", "March 2024"), ("3 pm", "3 am"),
    ("-5 °C", "5 °C"),
    ("$5", "5 euros"), ("5 °C", "5 °F"), ("5 kg", "5 km"), ("1965", "65"), ("206", "26"),
    ("one second", "one of them"), ("1.5 million", "1.5 billion"), ("5 GiB", "5 GB"),
]  # fmt: skip


def sure(text: str) -> list[Figure]:
    return [each for each in figures(text) if each.is_sure]


@pytest.mark.parametrize(("claim", "source"), SAME)
def test_another_spelling_bears_out(claim: str, source: str) -> None:
    assert sure(claim)
    for claimed in sure(claim):
        assert any(same(claimed, given) for given in figures(f"It was {source} then."))


@pytest.mark.parametrize(("claim", "source"), OTHER)
def test_another_figure_does_not(claim: str, source: str) -> None:
    assert sure(claim)
    given = figures(f"It was {source} then.")
    assert not all(any(same(claimed, each) for each in given) for claimed in sure(claim))


@pytest.mark.parametrize("text", ["one of them", "no one", "May we go", "the elf", "a man", "acht"])
def test_words_that_may_be_no_figure_claim_nothing(text: str) -> None:
    assert sure(text) == []


def test_a_range_shares_its_unit() -> None:
    one, two = figures("between 5 and 10 seconds")
    assert one.unit == two.unit
    assert one.text == "5"


@given(st.text(alphabet="0123456789.,-−/: \u00a0'%$€kMsmin maytwohundredfünfzigMarch", max_size=40))
def test_a_figure_bears_out_itself_and_none_overlaps(text: str) -> None:
    found = figures(text)
    assert all(same(each, each) for each in found)
    assert all(one.end <= two.start for one, two in pairwise(found))
    assert all(text[each.start : each.end] == each.text for each in found)
