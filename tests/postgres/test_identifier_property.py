"""D2 as a law: whatever the weights and the corpus, what an identifier names comes first."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.domain import Weights
from search.pipeline import Choices, search
from tests.support.factories import make_collection, make_document
from tests.support.laws import examples

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

WORDS = [
    "pump", "valve", "bearing", "inspection", "lock", "gauge", "filter", "hose", "wall", "north",
    "crew", "shift", "record",
]  # fmt: skip
# Around an identifier, how people ask for it. None says more than a few words besides.
QUESTIONS = ("{}", "{}?", "What is {}", "Tell me about {}.", "explain {}", "where is {} used")


@dataclass(frozen=True, slots=True)
class Owned:
    """An identifier as its document's title has it, and the spellings that ask for it."""

    written: str
    spellings: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"About {self.written}"


def owned(chance: random.Random) -> list[Owned]:
    """An identifier of each kind, drawn anew."""

    def digits(count: int) -> str:
        return str(chance.randrange(10 ** (count - 1), 10**count))

    letter, number, year = chance.choice("BDEKLQ"), digits(2), chance.randrange(2016, 2026)
    record, part, section = digits(4), digits(4), f"{digits(2)}.{digits(4)}"
    name = chance.choice(("Node", "Clock", "Timer"))
    rack = f"{letter}-{number}"
    return [
        Owned(rack, (rack, f"{letter}{number}", f"{letter} {number}", rack.lower())),
        Owned(f"INC-{year}-{record}", (f"INC-{year}-{record}", f"{year}-{record}")),
        Owned(f"A-{part}/B", (f"A-{part}/B",)),
        Owned(f"§{section}(a)", (f"§{section}(a)", f"§ {section}(a)", f"section {section}(a)")),
        Owned(f"rclcpp::{name}", (f"rclcpp::{name}",)),
        Owned(f"v{number}.4.1", (f"v{number}.4.1", f"version {number}.4.1", f"{number}.4.1")),
        Owned(f"crew{number}@example.org", (f"crew{number}@example.org",)),
        Owned(f"pump_{name.lower()}.py", (f"pump_{name.lower()}.py",)),
        Owned(f"ORA-0{record}", (f"ORA-0{record}", f"ora-0{record}")),
        Owned(f"0x8007{record}", (f"0x8007{record}",)),
    ]


def fill(chance: random.Random, identifiers: list[Owned]) -> None:
    """A library in which each identifier has its document, and others talk of it at length."""
    collection = make_collection()

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    for one in identifiers:
        text = f"# {one.title}\n\nThe {words(8)}. {one.written} {words(chance.randrange(3, 60))}."
        make_document(collection, text)
    for number in range(3):
        named = chance.sample(identifiers, k=6)
        talk = ". ".join(f"Tell me about {one.written}, {words(5)}" for one in named * 3)
        make_document(collection, f"# Talk {number}\n\n{talk}.")
    for number in range(4):
        make_document(collection, f"# Note {number}\n\nWhat is used where: {words(60)}.")


weights = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(
    lambda pair: Weights(min(pair) / 100, (max(pair) - min(pair)) / 100, 1 - max(pair) / 100)
)


@pytest.mark.parametrize("seed", [1, 2])
def test_document_that_owns_an_identifier_is_first_under_any_weights(seed: int) -> None:
    chance = random.Random(seed)
    identifiers = owned(chance)
    fill(chance, identifiers)

    @settings(
        max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(st.sampled_from(identifiers), st.data(), st.sampled_from(QUESTIONS), weights)
    def owner_is_first(one: Owned, data: st.DataObject, question: str, shares: Weights) -> None:
        text = question.format(data.draw(st.sampled_from(one.spellings)))
        response = search(text, viewer=None, choices=Choices(weights=shares))
        assert response.results[0].title == one.title, text

    owner_is_first()
