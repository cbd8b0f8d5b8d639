"""The type of answer that a question asks for; the sentences of passages, and which offer one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.lexical.sentences import LONGEST, Kind, sentences
from search.answers.extracting.answer_types import (
    AnswerType,
    answer_type,
    asks_how,
    instructs,
    limits,
    names_in_code,
    offers,
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did the war end?", AnswerType.DATE),
        ("In what year was it built?", AnswerType.DATE),
        ("Wann wurde sie gebaut?", AnswerType.DATE),
        ("¿Cuándo llegó el tren?", AnswerType.DATE),
        ("Quand est-il né ?", AnswerType.DATE),
        ("How many people live there?", AnswerType.NUMBER),
        ("How long is a connection timeout?", AnswerType.NUMBER),
        ("Wie viele Menschen leben dort?", AnswerType.NUMBER),
        ("¿Cuántos habitantes tiene?", AnswerType.NUMBER),
        ("Combien de temps dure-t-il ?", AnswerType.NUMBER),
        ("Who wrote it?", AnswerType.PERSON),
        ("Wer hat es geschrieben?", AnswerType.PERSON),
        ("¿Quién lo escribió?", AnswerType.PERSON),
        ("Qui l'a écrit ?", AnswerType.PERSON),
        ("Where is the harbour?", AnswerType.PLACE),
        ("Wo liegt der Hafen?", AnswerType.PLACE),
        ("¿Dónde está el puerto?", AnswerType.PLACE),
        ("Où est le port ?", AnswerType.PLACE),
        ("Which error code means a full disk?", AnswerType.IDENTIFIER),
        ("Why is the sky blue?", AnswerType.OTHER),
        ("What is a steelyard?", AnswerType.OTHER),
        ("Le port qui est fermé", AnswerType.OTHER),
        ("What happens when it fails?", AnswerType.OTHER),
        ("And in 1900, where did he live?", AnswerType.PLACE),
        ("To whom was it sold?", AnswerType.PERSON),
        ("The bridge was built when?", AnswerType.DATE),
        ("How is a man who rows called?", AnswerType.OTHER),
        ("How do I send an email?", AnswerType.MEANS),
        ("how to run a migration backwards", AnswerType.MEANS),
        ("What is the best way to log out?", AnswerType.MEANS),
        ("Wie kann ich eine Datei löschen?", AnswerType.MEANS),
        ("¿Cómo puedo borrar un archivo?", AnswerType.MEANS),
        ("Comment supprimer un fichier ?", AnswerType.MEANS),
        ("How do I know how many rows there are?", AnswerType.NUMBER),
        ("How does it work?", AnswerType.OTHER),
        ("", AnswerType.OTHER),
    ],
)
def test_the_type_of_answer(question: str, expected: AnswerType) -> None:
    assert answer_type(question) is expected


@pytest.mark.parametrize(
    ("kind", "sentence", "question", "expected"),
    [
        (AnswerType.DATE, "It ended in 1648.", "When did it end?", True),
        (AnswerType.DATE, "It ended badly.", "When did it end?", False),
        (AnswerType.DATE, "In 1648 it ended.", "When in 1648 did it end?", False),
        (AnswerType.DATE, "Es endete im Oktober.", "Wann endete es?", True),
        (AnswerType.NUMBER, "It waits 30 seconds.", "How long?", True),
        (AnswerType.NUMBER, "It waits three days.", "How long?", True),
        (AnswerType.NUMBER, "It waits for ever.", "How long?", False),
        (AnswerType.PERSON, "It was written by Ada Lovelace.", "Who wrote it?", True),
        (AnswerType.PERSON, "Nobody knows.", "Who wrote it?", False),
        (AnswerType.PERSON, "Nobody knows it.", "Who is Nobody?", False),
        (AnswerType.PERSON, "Ada Lovelace.", "Who wrote it?", True),
        (AnswerType.PERSON, "Das schrieb Ada Lovelace.", "Wer schrieb es?", True),
        (AnswerType.IDENTIFIER, "A full disk gives D-40.", "Which code?", True),
        (AnswerType.IDENTIFIER, "A full disk gives an error.", "Which code?", False),
        (AnswerType.MEANS, "Use send_mail() for that.", "How do I send mail?", True),
        (AnswerType.MEANS, "Pass --empty to it.", "How do I make it empty?", True),
        (AnswerType.MEANS, "Set SECURE_SSL_REDIRECT.", "How do I redirect?", True),
        (AnswerType.MEANS, "Mail is sent.", "How do I send mail?", False),
        (AnswerType.MEANS, "It calls send_mail().", "How do I call send_mail()?", False),
        (AnswerType.OTHER, "Anything.", "Why?", True),
    ],
)
def test_a_sentence_offers_a_token_that_the_question_lacks(
    kind: AnswerType, sentence: str, question: str, expected: bool
) -> None:
    assert offers(kind, sentence, question) is expected


@pytest.mark.parametrize(
    ("sentence", "does_instruct", "does_limit"),
    [
        ("Use select_related() for this.", True, False),
        ("2. To stop it, just press Enter.", True, False),
        ("The user is logged out by calling logout().", True, False),
        ("However, this is limited to one row.", False, True),
        ("Rows can't be locked outside a transaction.", False, True),
        ("The rows are locked.", False, False),
    ],
)
def test_instructions_and_limits(sentence: str, does_instruct: bool, does_limit: bool) -> None:
    assert (instructs(sentence), limits(sentence)) == (does_instruct, does_limit)


@pytest.mark.parametrize(
    "piece", ["a", "A", "_", "a_", "A_A", "--a", " ", ".", "to ", "1) ", "just ", "wie aaa ", "é"]
)
def test_long_texts_take_linear_time(piece: str) -> None:
    """A pattern that backtracks over all of it would not come to an end."""
    text = piece * 100_000
    asks_how(text), instructs(text), limits(text)
    assert len(names_in_code(text)) <= len(text)


def split(text: str, language: str = "") -> list[str]:
    return [text[span.start : span.end] for span in sentences(text, language=language)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Dr. Lee paid 3.5 euros. He left.", ["Dr. Lee paid 3.5 euros.", "He left."]),
        ("en", "J. R. R. Tolkien wrote it. See Fig. 3. Ok?",
         ["J. R. R. Tolkien wrote it.", "See Fig. 3.", "Ok?"]),
        ("en", "Gov. Brown signed. Sen. Hill did not.",
         ["Gov. Brown signed.", "Sen. Hill did not."]),
        ("de", "Am 3. Oktober kam z. B. Hr. Müller. Er blieb bis Jh. 20 Ende.",
         ["Am 3. Oktober kam z. B. Hr. Müller.", "Er blieb bis Jh. 20 Ende."]),
        ("en", "He was born on May 3. October came.",
         ["He was born on May 3.", "October came."]),
        ("es", "La Sra. López vive en la Av. Colón. Trabaja mucho.",
         ["La Sra. López vive en la Av. Colón.", "Trabaja mucho."]),
        ("fr", "Né en 52 av. J.-C. à Rome. M. Dupont arrive.",
         ["Né en 52 av. J.-C. à Rome.", "M. Dupont arrive."]),
        ("zh", "今天天气好。我们走吧！好吗？", ["今天天气好。", "我们走吧！", "好吗？"]),
        ("ja", "雨だ。「行く」と言った。", ["雨だ。", "「行く」と言った。"]),
    ],
)  # fmt: skip
def test_abbreviations_initials_and_ordinals_end_no_sentence(
    language: str, text: str, expected: list[str]
) -> None:
    assert split(text, language) == expected


def test_a_list_is_split_into_its_items_with_their_markers() -> None:
    text = "You need:\n- a beam. Long.\n- a weight\n  of iron\n2) a hook"
    assert split(text) == ["You need:", "- a beam.", "Long.", "- a weight\n  of iron", "2) a hook"]


def test_rows_lines_of_code_and_headings_stand_alone() -> None:
    text = (
        "Timeouts\n\nEach has one.\n\nName | Seconds\nconnect | 30\n\n"
        "pool = connect(30)\nreturn pool\n\nThe end."
    )
    found = [(text[each.start : each.end], each.kind) for each in sentences(text)]
    assert found == [
        ("Timeouts", Kind.HEADING),
        ("Each has one.", Kind.PROSE),
        ("Name | Seconds", Kind.ROW),
        ("connect | 30", Kind.ROW),
        ("pool = connect(30)", Kind.CODE),
        ("return pool", Kind.CODE),
        ("The end.", Kind.PROSE),
    ]


def test_lines_of_wrapped_prose_are_one_sentence() -> None:
    assert split("A beam that is\nlong and thin. It\nswings.") == [
        "A beam that is\nlong and thin.",
        "It\nswings.",
    ]


def test_endless_words_are_cut_between_words() -> None:
    text = "word " * 1000
    pieces = split(text)
    assert max(map(len, pieces)) <= LONGEST
    assert " ".join(pieces) == text.strip()
    assert max(map(len, split("x" * 5000))) == LONGEST


PIECES = st.sampled_from(
    ["Dr. ", "A b. ", "z. B. ", "3. ", "- ", "* x", "a | b\n", "\n", "\n\n", "  ", "é。", "？",
     "...", "x = 1\n", "Word ", "U.S. ", "\t", "\r\n", "\u2028", "1) ", "!", "\x0b"]
)  # fmt: skip


@given(
    st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=400).map("".join)),
    st.sampled_from(["", "en", "de", "fr", "zh"]),
)
def test_sentences_are_trimmed_in_order_apart_and_leave_nothing_out(
    text: str, language: str
) -> None:
    place = 0
    for span in sentences(text, language=language):
        sentence = text[span.start : span.end]
        assert sentence
        assert sentence == sentence.strip()
        assert place <= span.start < span.end <= len(text)
        assert not text[place : span.start].strip()
        place = span.end
    assert not text[place:].strip()
