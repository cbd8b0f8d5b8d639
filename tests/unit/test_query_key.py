"""What makes two queries the same: their key, by which pins are found."""

from __future__ import annotations

from search.query.query_key import MAX_KEY, query_key


def test_pins_match_exactly_their_question() -> None:
    assert query_key("  Annual LEAVE ") == "annual leave"
    assert query_key("annual leave form") != "annual leave"


def test_the_key_of_a_query_fits_into_an_index() -> None:
    assert query_key("  The Pump ") == "the pump"
    keys = [query_key("word " * 700 + end) for end in ("", "a", "A", "b")]
    assert len(set(keys)) == 3
    assert all(len(key) <= MAX_KEY for key in keys)
