"""Laws of identifiers: any text, any spelling, any size."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.identifiers import (
    find_identifiers,
    index_forms,
    is_single_identifier,
    match_strength,
    query_identifiers,
)
from ingestion.identifiers.finding import MAX_IDENTIFIER_CHARS
from tests.support.laws import examples

PIECES = (
    "D|40|-| |/|.|::|_|§|(a)|CFR|30 |@|()|a|x.py|2024|0042|0x|--|ß|İ|\u00ad|\u2011|é|日|\n|v1.2"
)
pieces = st.sampled_from(PIECES.split("|"))
texts = st.text(max_size=200) | st.lists(pieces, max_size=40).map("".join)


@settings(max_examples=examples(300))
@given(texts)
def test_any_text_gives_ordered_separate_quotations(text: str) -> None:
    is_single_identifier(text)
    for found in (find_identifiers(text), query_identifiers(text)):
        for one in found:
            assert text[one.start : one.end] == one.text
            assert one.canonical
            forms = index_forms(one)
            assert forms[0] == (one.canonical, 1.0)
            assert all(0 < form.strength < 1 and form.form for form in forms[1:])
        for left, right in pairwise(found):
            assert left.end <= right.start


numbers = st.integers(10, 999999).map(str).filter(lambda digits: digits[:2] not in ("19", "20"))
hyphens = st.sampled_from(["-", "\u2010", "\u2011", "\u2013"])


@settings(max_examples=examples(200))
@given(st.text("DEKLQXZ", min_size=1, max_size=4), numbers, hyphens)
def test_a_code_is_one_in_every_spelling(word: str, number: str, hyphen: str) -> None:
    canonical = (word + number).lower()
    for spelling in (word + number, f"{word}{hyphen}{number}", f"{word} {number}"):
        (found,) = find_identifiers(f"in {spelling}, they say")
        assert found.canonical == canonical
        for query in (spelling, spelling.lower()):
            (asked,) = query_identifiers(query)
            assert match_strength(asked, index_forms(found)) == 1.0
    # The canonical form is itself a spelling.
    (again,) = find_identifiers(canonical)
    assert again.canonical == canonical


@settings(max_examples=examples(200))
@given(
    st.text("DEKLQXZ", min_size=2, max_size=5),
    st.integers(1990, 2030).map(str),
    st.integers(0, 9999).map("{:04}".format).filter(lambda serial: serial[:2] not in ("19", "20")),
    st.sampled_from(["-", " ", "_", "\u2011"]),
)
def test_a_record_is_found_by_its_tail_but_not_by_a_namesake(
    word: str, year: str, serial: str, separator: str
) -> None:
    (found,) = find_identifiers(separator.join((word, year, serial)))
    stored = index_forms(found)
    (tail,) = query_identifiers(f"{year}-{serial}")
    assert 0 < match_strength(tail, stored) < 1
    (namesake,) = query_identifiers(f"Y{word}-{year}-{serial}")
    assert match_strength(namesake, stored) == 0


@pytest.mark.parametrize(
    "unit", ["a.", "1.", "A1-", "a/", "75.1725(a)", "a a1", "-\u2013", "--a-", "a_a"]
)
def test_half_a_megabyte_of_anything_takes_linear_time(unit: str) -> None:
    # Were a pattern quadratic in the text, this would take hours: the suite's limit is the test.
    text = (unit * 500_000)[:500_000]
    for one in find_identifiers(text)[:1000]:
        assert one.end - one.start <= MAX_IDENTIFIER_CHARS


def test_an_identifier_on_the_border_of_two_stretches_is_found_once() -> None:
    for shift in range(2030, 2060):
        text = "x " * (shift // 2) + " " * (shift % 2) + "INC-2024-0042 end"
        assert [one.canonical for one in find_identifiers(text)] == ["inc2024-0042"]


@settings(max_examples=examples(50))
@given(st.integers(150, 300), st.sampled_from(["a/", "ß_", "v_", "x.", "a1-", "A::"]))
def test_no_form_is_too_long_for_its_column(length: int, unit: str) -> None:
    text = (unit * length)[:length] + "b1.py"
    for one in find_identifiers(text):
        assert all(len(form.form) <= MAX_IDENTIFIER_CHARS for form in index_forms(one))
