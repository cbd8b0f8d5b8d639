"""Which words of a query may be corrected, and into what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.identifiers import DEFAULT_PATTERNS
from search.errors import SearchError
from search.query import parse
from search.query.parse import MAX_QUERY_CHARS
from search.query.spelling_correction import (
    Neighbour,
    checked,
    correctable,
    corrected,
    edit_distance,
)

WORDS = st.text(alphabet="abcde", max_size=7)


def words_of(text: str) -> list[str]:
    return [word.text for word in correctable(parse(text, DEFAULT_PATTERNS))]


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        pytest.param("", "pump", 4, id="nothing"),
        pytest.param("pmp", "pump", 1, id="a letter left out"),
        pytest.param("pomp", "pump", 1, id="another letter"),
        pytest.param("pyhton", "python", 1, id="two letters swapped"),
        pytest.param("ca", "abc", 3, id="no letter is edited twice"),
    ],
)
def test_edit_distance_matches_a_count_by_hand(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other) == distance


@given(WORDS, WORDS)
def test_distance_is_symmetric_and_bounded(one: str, other: str) -> None:
    distance = edit_distance(one, other)
    assert distance == edit_distance(other, one)
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))
    assert (distance == 0) == (one == other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("forward kinematiks", ["forward", "kinematiks"], id="plain words"),
        pytest.param("What is a pomp?", ["What", "pomp"], id="short words stay"),
        pytest.param('"forward kinematiks" pomp', ["pomp"], id="a phrase stays"),
        pytest.param("-kinematiks pomp", ["pomp"], id="an excluded word stays"),
        pytest.param("title:kinematiks pomp", ["pomp"], id="a field stays"),
        pytest.param("region D40 INC-2024-0042", ["region"], id="identifiers stay"),
        pytest.param("rclcpp::Node getUserName NASA", [], id="names of programs stay"),
        pytest.param("2024 3rd utf8 pomp", ["pomp"], id="numbers stay"),
        pytest.param("北京大学 kinematiks", ["kinematiks"], id="runs stay"),
        pytest.param("(pomp), valves.", ["pomp", "valves"], id="punctuation around"),
    ],
)
def test_only_plain_words_are_correctable(text: str, words: list[str]) -> None:
    assert words_of(text) == words


class TestCorrected:
    def correct(self, text: str, **spelt: list[tuple[str, int]]) -> str:
        neighbours = {word: [Neighbour(*one) for one in found] for word, found in spelt.items()}
        return corrected(parse(text, DEFAULT_PATTERNS), neighbours)

    def test_only_the_unknown_word_changes(self) -> None:
        found = self.correct(
            'forward  kinematiks, "old kinematiks"?', kinematiks=[("kinematics", 3)]
        )
        assert found == 'forward kinematics, "old kinematiks"?'

    def test_nearest_then_most_frequent_word_wins(self) -> None:
        assert self.correct("pumpp", pumpp=[("pimp", 90), ("pump", 2)]) == "pump"
        assert self.correct("pimp", pimp=[("pomp", 2), ("pump", 9)]) == "pump"

    def test_a_short_word_takes_one_edit_and_a_long_one_two(self) -> None:
        assert self.correct("valfs", valfs=[("valve", 5)]) == ""
        assert self.correct("kynematiks", kynematiks=[("kinematics", 5)]) == "kinematics"
        assert self.correct("kynemetiks", kynemetiks=[("kinematics", 5)]) == ""

    def test_correction_keeps_the_case(self) -> None:
        assert self.correct("Kinematiks", Kinematiks=[("kinematics", 5)]) == "Kinematics"
        assert self.correct("genemigung", genemigung=[("Genehmigung", 5)]) == "genehmigung"

    def test_word_without_neighbours_is_not_corrected(self) -> None:
        assert self.correct("kinematiks") == ""
        assert self.correct("kinematiks", kinematiks=[("kinematiks", 5)]) == ""

    def test_a_british_word_becomes_its_american_form_alone(self) -> None:
        assert self.correct("colours", colours=[("colony", 9), ("colors", 5)]) == "colors"
        assert self.correct("optimise", optimise=[("optimism", 9), ("optimize", 5)]) == "optimize"
        assert self.correct("fibre", fibre=[("fire", 5)]) == ""

    def test_corrected_query_keeps_the_maximum_length(self) -> None:
        text = "pumpp " + "x" * (MAX_QUERY_CHARS - 6)
        assert self.correct(text, pumpp=[("pumpps", 5)]) == ""


@given(st.text(max_size=80))
def test_correctable_words_have_correct_offsets(text: str) -> None:
    try:
        query = parse(text, DEFAULT_PATTERNS)
    except SearchError:
        return
    for word in correctable(query):
        assert query.original[word.start : word.end] == word.text


def test_words_of_asking_are_no_words_that_a_text_lacks() -> None:
    for text in ("lightning how long to wait", "wie lange gilt es"):
        assert not {"long", "lange"} & {word for word, _ in checked(parse(text, DEFAULT_PATTERNS))}
