"""Quotes: the sentences of a context that answer best, and whether they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.embedding import Vectors
from ingestion.errors import EmbeddingUnavailable
from search.answers.domain import Context
from search.answers.extracting.answer_types import AnswerType
from search.answers.extracting.quotes import (
    USUAL_CONFIDENCE,
    AnswerabilityFeatures,
    extract,
    probability,
)
from search.answers.extracting.scoring import (
    MEANING,
    QuestionWords,
    compared_question,
    offers_of,
    question_weights,
    scores,
)
from search.domain import Query, TermStatistic
from tests.support.pieces import passage

TIMEOUTS = (
    "Connections\n\nA connection is opened on first use. Its timeout is 30 seconds by default. "
    "The pool closes it after an hour."
)
FERRY = "The ferry crosses the river twice an hour. Its captain is Ada Lovelace."


class Alike:
    """Embeds texts that contain `word` as the question, and others across it."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.embedded: list[str] = []

    def embed_query(self, text: str) -> Vectors:
        return np.array([1, 0], np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return np.array([[1, 0] if self.word in text else [0, 1] for text in texts], np.float32)


class Broken(Alike):
    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingUnavailable("away")


def context(*texts: str, language: str = "en") -> Context:
    return Context(
        tuple(passage(place, text, language=language) for place, text in enumerate(texts, start=1))
    )


def quoted(question: str, held: Context, *, most: int = 3, embedder: object = None) -> list[str]:
    quotes = extract(Query(question), held, embedder=embedder, most=most).quotes  # type: ignore[arg-type]
    texts = {each.number: each.text for each in held.passages}
    return [texts[quote.passage][quote.start : quote.end] for quote in quotes]


def test_the_sentence_with_the_words_and_the_type_comes_first() -> None:
    held = context(FERRY, TIMEOUTS)
    assert quoted("How long is the timeout of a connection?", held)[0] == (
        "Its timeout is 30 seconds by default."
    )
    assert quoted("Who is the captain of the ferry?", held)[0] == "Its captain is Ada Lovelace."


def test_headings_are_no_answers() -> None:
    assert "Connections" not in quoted("connections", context(TIMEOUTS), most=10)


def test_meaning_decides_between_equal_words() -> None:
    held = context("Red things burn. Blue things swim.")
    assert quoted("things", held, embedder=Alike("swim"))[0] == "Blue things swim."
    assert quoted("things", held, embedder=Alike("burn"))[0] == "Red things burn."


def test_a_sentence_is_embedded_after_the_title() -> None:
    embedder = Alike("x")
    held = Context((passage(1, "He was born there.", "Kant"),))
    extract(Query("Where was Kant born?"), held, embedder=embedder, most=1)
    assert embedder.embedded == ["Kant: He was born there."]


def test_what_a_sentence_introduces_comes_before_it() -> None:
    held = context("The ferry carries:\n\n- The ferry carries cars.")
    assert quoted("What does the ferry carry?", held)[0] == "- The ferry carries cars."


def test_how_to_is_answered_by_a_means() -> None:
    """Not by the sentence with most of the question's words; limits come last."""
    held = context(
        "Deleting many objects at once is often needed. However, you cannot delete many objects at "
        "once with delete_one(). The method bulk_delete() was made for it. For this, use "
        "QuerySet.delete()."
    )
    found = quoted("How do I delete many objects at once?", held, most=3)
    assert found[0] == "For this, use QuerySet.delete()."
    assert found[-1] != found[0]


def test_a_line_of_code_that_opens_a_bracket_is_no_answer() -> None:
    held = context("timeout = connect(\n    timeout=5,\n)\nother = timeout[\n    0,\n]")
    assert not any(line.endswith(("(", "[")) for line in quoted("timeout", held, most=10))


def test_copies_are_quoted_once() -> None:
    assert quoted("ferry river hour", context(FERRY, FERRY)).count(
        "The ferry crosses the river twice an hour."
    ) == 1  # fmt: skip


def test_a_much_weaker_sentence_is_not_quoted() -> None:
    found = quoted("How long is the connection timeout?", context(TIMEOUTS, "Bread needs yeast."))
    assert "Bread needs yeast." not in found


def test_without_its_model_words_decide() -> None:
    """Degrades: a model that is away fails no answer."""
    found = extract(Query("ferry river"), context(FERRY), embedder=Broken(""), most=1)
    assert found.quotes
    assert not found.by_meaning


def test_an_empty_context_answers_nothing() -> None:
    found = extract(Query("Who?"), Context(), embedder=Alike(""), most=3, confidence=0.9)
    assert found.quotes == ()
    assert found.answerability == 0
    assert found.kind is AnswerType.PERSON


def test_the_sum_of_a_score() -> None:
    held = context("Ada knew it in 1843. Nobody else.")
    terms = (TermStatistic("ada", 1, 3.0), TermStatistic("knew", 1, 1.0))
    first, second = offers_of(compared_question("When Ada knew", held, terms), held)
    # All of the words in the sentence, around it and in the passage; a date; rank 1.
    assert first.by_words == pytest.approx(2.5 + 5.0 + 2.0 + 1.6)
    # None, all in the sentence before, all in the passage; no date; rank 1.
    assert second.by_words == pytest.approx(0 + 5.0 + 2.0 - 3.0 + 1.6)
    by_meaning = scores([first, second], np.array([0.5, 0.1], np.float32))
    assert by_meaning[0] - first.by_words == pytest.approx(MEANING)
    assert by_meaning[1] - second.by_words == pytest.approx(-MEANING)


def test_the_sum_of_a_score_of_a_means() -> None:
    held = context("Use send_mail() to send. This is not sent.")
    terms = (TermStatistic("send", 1, 1.0),)
    first, second = offers_of(compared_question("How do I send it?", held, terms), held)
    assert first.by_words == pytest.approx(1.0 + 1.0 + 2.0 + 0.7 + 3.0)
    # Nothing said here, all around it; no name; a limit.
    assert second.by_words == pytest.approx(0.0 + 1.0 + 2.0 - 3.0 - 1.0 + 3.0)


def test_words_match_their_stems() -> None:
    terms = (TermStatistic("citi", 1, 2.0), TermStatistic("d40", 1, 6.0))
    words = QuestionWords(question_weights("", terms, ()))
    assert words.share(["cities"]) == pytest.approx(0.25)
    assert words.share(["city", "d40"]) == 1
    assert words.share(["d401"]) == 0


def test_without_terms_rare_words_weigh_more_and_stop_words_nothing() -> None:
    weights = question_weights("When is the ferry here?", (), ["a ferry", "a train"])
    assert set(weights) == {"ferry"}
    rare = question_weights("ferry train", (), ["ferry", "ferry", "train"])
    assert rare["train"] > rare["ferry"]


def test_confidence_cosine_type_and_words_raise_the_answerability() -> None:
    usual = AnswerabilityFeatures(0.5, 0.5, 0.5, True, False, False)
    names = [field.name for field in fields(usual)]
    for name, value in zip(names, (0.9, 0.9, 0.9, False, True, True), strict=True):
        other = probability(replace(usual, **{name: value}))
        assert (other > probability(usual)) is (value == 0.9), name
    unknown = replace(usual, **{names[0]: None, names[1]: None})
    known = replace(unknown, **{names[0]: USUAL_CONFIDENCE})
    assert probability(unknown) == probability(known)


def test_an_identifier_is_answered_as_surely_as_it_was_found() -> None:
    query = Query("D-40", is_identifier=True)
    held = context("D-40 is a full disk.")
    found = extract(query, held, embedder=None, most=1, confidence=0.93)
    assert found.answerability == 0.93


TEXTS = st.lists(
    st.lists(
        st.sampled_from(
            ["Dr. A b ", "in 1999. ", "The ferry ", "- x\n", "\n\n", "crosses. ", "é。"]
        ),
        max_size=20,
    ).map("".join),
    max_size=4,
)


@given(TEXTS, st.integers(1, 5))
def test_quotes_are_exact_apart_and_best_first(texts: list[str], most: int) -> None:
    """S5-18, S5-44."""
    held = context(*texts)
    found = extract(Query("When does the ferry cross?"), held, embedder=None, most=most).quotes
    assert len(found) <= most
    assert [each.score for each in found] == sorted((q.score for q in found), reverse=True)
    taken: list[tuple[int, int, int]] = []
    for quote in found:
        text = texts[quote.passage - 1]
        words = text[quote.start : quote.end]
        assert words
        assert words == words.strip()
        for number, start, end in taken:
            assert number != quote.passage or end <= quote.start or quote.end <= start
        taken.append((quote.passage, quote.start, quote.end))
