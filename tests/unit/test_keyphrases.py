"""Key phrases of a text: candidates, counts and the hand-worked C-value."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.parts.concepts.keyphrases import FEWEST, MAX_WORDS, KeyPhrase, key_phrases, words_of

STOPS = {"the", "of", "a", "is", "in", "and", "by", "it"}


def found(*texts: str, rare: dict[str, float] | None = None) -> list[KeyPhrase]:
    """The key phrases where a word's lexeme is the word without a plural s, and its idf is 1."""
    read = {word: re.sub(r"s$", "", word) for word in words_of(texts) if word not in STOPS}
    return key_phrases(texts, read, lambda lexeme: (rare or {}).get(lexeme, 1.0))


def labels(*texts: str) -> list[str]:
    return [phrase.label for phrase in found(*texts)]


def test_runs_end_at_stop_words_and_punctuation() -> None:
    assert set(labels("The boundary layer of wings. Heat transfer, drag")) == {
        "boundary layer",
        "wings",
        "Heat transfer",
        "drag",
    }


def test_a_line_and_a_hyphen_do_not_end_a_phrase_but_a_paragraph_does() -> None:
    assert labels("The boundary\nlayer and boundary-layer") == ["boundary layer"]
    assert set(labels("The boundary\n\nlayer")) == {"boundary", "layer"}


def test_c_value_matches_a_calculation_by_hand() -> None:
    """f(boundary layer) 3 in no longer one; f(layer) 4 less the 3 within it; f(boundary) 3 - 3."""
    text = "The boundary layer is a boundary layer by the boundary layer of the layer"
    pair, layer = found(text)
    assert (pair.label, pair.count, pair.weight) == ("boundary layer", 3, 1.0)
    assert (layer.label, layer.count) == ("layer", 4)
    assert layer.weight == approx(math.log2(2) * 1 / (math.log2(3) * 3))


def test_rare_words_weigh_more() -> None:
    common, rare = found("the pump of the valve", rare={"pump": 2.0})
    assert (common.label, rare.label) == ("pump", "valve")
    assert rare.weight == approx(0.5)


def test_forms_of_a_phrase_are_one_with_its_most_frequent_form() -> None:
    (phrase,) = found("The cooling towers and a cooling tower and the cooling towers")
    assert (phrase.label, phrase.lexemes, phrase.count) == (
        "cooling towers",
        ("cooling", "tower"),
        3,
    )


def test_phrase_belongs_to_the_first_text_with_it() -> None:
    assert {each.label: each.place for each in found("the pump", "the valve and pump")} == {
        "pump": 0,
        "valve": 1,
    }


def test_numbers_short_words_and_scripts_without_breaks_are_left_out() -> None:
    assert labels("12 of 3.5, x in ab, 北京大学, EKF") == ["EKF"]


words = st.sampled_from(["pump", "pumps", "valve", "door", "the", "of", "EKF", "42", ".", "\n\n"])


@given(st.lists(st.lists(words, max_size=30), max_size=4))
def test_key_phrases_are_ordered_bounded_and_in_their_texts(parts: list[list[str]]) -> None:
    """Best first, at most so many, in (0, 1], each once, and each label is in its text."""
    texts = [" ".join(part) for part in parts]
    phrases = found(*texts)
    weights = [phrase.weight for phrase in phrases]
    assert weights == sorted(weights, reverse=True)
    assert all(0 < weight <= 1 for weight in weights)
    assert not phrases or weights[0] == 1
    assert len({phrase.lexemes for phrase in phrases}) == len(phrases)
    assert len(phrases) <= FEWEST + sum(map(len, parts)) // 20
    for phrase in phrases:
        assert phrase.label in " ".join(" ".join(texts).split())
        assert 1 <= len(phrase.lexemes) <= MAX_WORDS
        assert phrase.count >= 1
