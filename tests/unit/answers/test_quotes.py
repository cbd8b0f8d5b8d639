"""Quotes: the sentences of a context that answer best, the pieces around them, and whether they
answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain import BlockKind
from ingestion.embedding import Vectors
from ingestion.errors import EmbeddingUnavailable
from ingestion.identifiers import DEFAULT_PATTERNS
from search.answers.domain import SURE, Answered, AnswerParameters, Context, Mode
from search.answers.making.quoting import quoted as quoted_answer
from search.answers.making.writing import extracted
from search.answers.quote_scoring import QuestionWords, offers_of, question_weights, scores
from search.answers.quotes import extract
from search.domain import Query, Reading, TermStatistic
from search.engine.response import SearchResponse
from search.presentation.records import RecordLookup
from search.query import parse
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
    """The marked sentence of each piece."""
    quotes = extract(Query(question), held, embedder=embedder, most=most).quotes  # type: ignore[arg-type]
    texts = {each.number: each.text for each in held.passages}
    return [texts[quote.passage][quote.marked.start : quote.marked.end] for quote in quotes]


def test_the_sentence_with_the_words_comes_first() -> None:
    held = context(FERRY, TIMEOUTS)
    assert quoted("How long is the timeout of a connection?", held)[0] == (
        "Its timeout is 30 seconds by default."
    )
    assert quoted("Who is the captain of the ferry?", held)[0] == "Its captain is Ada Lovelace."


def test_meaning_decides_between_equal_words() -> None:
    held = context("Red things burn. Blue things swim.")
    assert quoted("things", held, embedder=Alike("swim"))[0] == "Blue things swim."
    assert quoted("things", held, embedder=Alike("burn"))[0] == "Red things burn."


def test_a_sentence_is_embedded_after_the_title() -> None:
    embedder = Alike("x")
    held = Context((passage(1, "He was born there.", "Kant"),))
    extract(Query("Where was Kant born?"), held, embedder=embedder, most=1)
    assert embedder.embedded == ["Kant: He was born there."]


def test_a_much_weaker_sentence_is_not_quoted() -> None:
    found = quoted("How long is the connection timeout?", context(TIMEOUTS, "Bread needs yeast."))
    assert "Bread needs yeast." not in found


def test_words_decide_without_the_embedding_model() -> None:
    """Degrades: a model that is away fails no answer."""
    found = extract(Query("ferry river"), context(FERRY), embedder=Broken(""), most=1)
    assert found.quotes


def test_an_empty_context_answers_nothing() -> None:
    found = extract(Query("Who?"), Context(), embedder=Alike(""), most=3, confidence=0.9)
    assert found.quotes == ()
    assert found.answerability == 0


def test_words_match_their_stems() -> None:
    terms = (TermStatistic("citi", 1, 2.0), TermStatistic("d40", 1, 6.0))
    words = QuestionWords(question_weights("", terms))
    assert words.share(words.lexemes_in("cities")) == pytest.approx(0.25)
    assert words.share(words.lexemes_in("city d40")) == 1
    assert words.share(words.lexemes_in("d401")) == 0


@pytest.mark.parametrize(
    ("lexeme", "text", "is_said"),
    [
        ("kuhnel", "Dr. Kühnel-Öztürk | 0192", True),
        ("daenemark", "Dänemark | 68", True),
        ("nh3", "NH₃ below 20 ppm", True),
        ("kühnel", "Kuhnel", False),  # typed with its accent
        ("WHO", "The WHO liaison", True),
        ("WHO", "Those who ask", False),
        ("C++", "in C++ or Rust", True),
    ],
)
def test_words_are_said_in_other_spellings(lexeme: str, text: str, is_said: bool) -> None:
    words = QuestionWords({lexeme: 1.0})
    assert (words.lexemes_in(text) == {lexeme}) is is_said


def test_acronym_of_a_stop_word_has_a_weight() -> None:
    assert question_weights("Who leads IT?", ()) == {"leads": 1.0, "IT": 1.0}
    assert question_weights("WHO LEADS IT", ()) == {"leads": 1.0}
    assert quoted("IT", context("It rains.", "The IT desk is in room 4."))[0].startswith("The IT")


def test_sections_are_about_what_the_title_names() -> None:
    text = "Toner of the KY-4020\n\nOpen the cover.\n\nIf it jams\n\nCall extension 4455."
    sections = ((0, ("Toner of the KY-4020",)), (text.index("If"), ("If it jams",)))
    kinds = (BlockKind.HEADING, BlockKind.PARAGRAPH) * 2
    layout = tuple(zip(map(text.index, ("Toner", "Open", "If", "Call")), kinds, strict=True))
    held = passage(1, text, title="Toner of the KY-4020", sections=sections, layout=layout)
    query = parse("KY-4020 jams", DEFAULT_PATTERNS)
    found = extract(query, Context((held,)), embedder=None, most=1)
    assert [text[part.start : part.end] for part in found.quotes[0].parts] == [
        "Call extension 4455."
    ]


def test_steps_below_the_heading_of_the_case_asked_about_come_first() -> None:
    """Those for the other case say more of the question's words, and did harm."""
    heads = ("If you receive one", "If you have clicked a link")
    steps = ("1. Do not click any link.", "1. Disconnect the computer from the network.")
    text = "\n\n".join(each for pair in zip(heads, steps, strict=True) for each in pair)
    sections = tuple((text.index(each), ("Phishing mails", each)) for each in heads)
    held = passage(1, text, title="Phishing mails", sections=sections)
    question = Query("What should I do after a click on a link in a phishing mail?")
    found = extract(question, Context((held,)), embedder=None, most=1)
    parts = found.quotes[0].parts
    assert text[parts[0].start : parts[-1].end] == f"{heads[1]}\n\n{steps[1]}"


def test_a_heading_says_less_than_the_sentence() -> None:
    """Only the two best by words are compared by meaning: “The store signs” was one of them."""
    heads = ("Opening hours", "Deliveries")
    texts = ("Deliveries are taken until three.", "Deliveries need a forklift. The store signs.")
    text = "\n\n".join(each for pair in zip(heads, texts, strict=True) for each in pair)
    sections = tuple((text.index(f"{each}\n"), ("Handbook", each)) for each in heads)
    held = passage(1, text, title="Handbook", sections=sections)
    question, embedder = "Until when are deliveries taken?", Alike("until")
    assert quoted(question, Context((held,)), most=1, embedder=embedder) == [texts[0]]


def test_title_above_the_first_heading_is_no_answer() -> None:
    text = "House rules of Crane House\n\nQuiet hours\n\nFrom ten at night nobody drills."
    layout = ((0, BlockKind.PARAGRAPH), (28, BlockKind.HEADING), (41, BlockKind.PARAGRAPH))
    held = passage(1, text, layout=layout, sections=((28, ("Quiet hours",)),))
    found = extract(Query("Crane House quiet hours"), Context((held,)), embedder=None, most=1)
    assert [text[part.start : part.end] for part in found.quotes[0].parts] == [
        "From ten at night nobody drills."
    ]


def test_without_terms_all_words_but_stop_words_weigh_the_same() -> None:
    assert question_weights("When is the ferry here?", ()) == {"ferry": 1.0}


@pytest.mark.parametrize(
    ("question", "confidence", "is_surer"),
    [
        ("default of MAIL_TIMEOUT", 0.8, True),
        ("default of MAIL_TIMEOUT", None, True),  # .68 stands for it
        ("default of MAIL_COLOUR", 0.6, False),
        ("colour of MAIL_TIMEOUT", 0.6, False),
        ("47 default of MAIL_TIMEOUT", 0.6, False),
    ],
)
def test_answerability_depends_on_terms_and_confidence(
    question: str, confidence: float | None, is_surer: bool
) -> None:
    def sure(text: str, confidence: float | None) -> float:
        found = extract(Query(text), manual(), embedder=None, most=1, confidence=confidence)
        return found.answerability

    assert (sure(question, confidence) > sure("default of MAIL_TIMEOUT", 0.6)) is is_surer
    assert sure("default of MAIL_TIMEOUT", 0.6) > 3 * sure("default of MAIL_COLOUR", 0.6)


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
def test_quotes_are_exact_separate_and_best_first(texts: list[str], most: int) -> None:
    """S5-18, S5-44."""
    held = context(*texts)
    found = extract(Query("When does the ferry cross?"), held, embedder=None, most=most).quotes
    assert len(found) <= most
    assert len({each.passage for each in found}) == len(found)
    assert [each.score for each in found] == sorted((q.score for q in found), reverse=True)
    for quote in found:
        assert quote.marked in quote.parts
        assert sorted(quote.parts, key=lambda part: part.start) == list(quote.parts)
        for part, following in pairwise((*quote.parts, None)):
            words = texts[quote.passage - 1][part.start : part.end]
            assert words == words.strip() != ""
            assert following is None or part.end <= following.start


SETTINGS = (
    ("heading", "MAIL_TIMEOUT"),
    ("paragraph", "Default: 30 (seconds)"),
    ("paragraph", "How long a connection to the mail server may take. See test --parallel."),
    ("heading", "Installing"),
    ("paragraph", "The server is small. " * 30),
    ("paragraph", "However, it needs a disk. To install it:"),
    ("list_item", "1. Fetch the archive."),
    ("list_item", "2. Run the installer."),
    ("list_item", "3. Start the server."),
    ("paragraph", "Nothing else is needed. " * 30),
    ("heading", "Weighing"),
    ("paragraph", "A weight is measured in two ways. " * 20),
    ("paragraph", "Call weigh() to measure a load:"),
    ("code", "from scale import weigh\n\nload = weigh(\n    beam=1,\n)"),
    ("paragraph", "The result is a number. " * 30),
    ("heading", "Limits"),
    ("paragraph", "Every beam has a limit. " * 60),
    ("table", "Beam | Limit\nshort | 5 kg\nlong | 50 kg\nheavy | 500 kg"),
    ("paragraph", "A beam breaks above it. " * 60),
)


# A class and its attribute.
REFERENCE = (
    ("heading", "DayField"),
    ("paragraph", "DayField(set_now=False, **options)"),
    ("paragraph", "A day. The options set_now and default exclude each other. " * 20),
    ("heading", "DayField.set_now"),
    ("paragraph", "Writes the day of each save. Useful where changes are listed."),
)


def test_a_comparison_gets_a_piece_for_each_side() -> None:
    held = context(
        "A kayak is light. A kayak is paddled alone. A kayak is rented by the hour.",
        "The barge carries sand.",
        "A kayak and its paddle are compared with others every spring.",
    )
    found = quoted("Compare kayak and barge", held, most=2)
    assert ["kayak" in found[0], "barge" in found[1]] == [True, True]


def manual(blocks: Sequence[tuple[str, str]] = SETTINGS) -> Context:
    """A passage with a layout: a definition, steps, code and a table, each between long prose."""
    text, layout, sections = "", [], []
    for kind, written in blocks:
        block = written.split(" > ")[-1]
        layout.append((len(text), kind))
        if kind == "heading":
            sections.append((len(text), ("Manual", *written.split(" > "))))
        text += block.strip() + "\n\n"
    return Context(
        (passage(1, text.strip(), "Manual", layout=tuple(layout), sections=tuple(sections)),)
    )


def shown(question: str, blocks: Sequence[tuple[str, str]] = SETTINGS) -> str:
    """The text of the answer by pieces, beside a passage about something else."""
    held = Context((*manual(blocks).passages, passage(2, "Bread needs yeast.")))
    found = extract(Query(question), held, embedder=None, most=3, confidence=1)
    answer = Answered("1", question, question, Mode.AUTO, Mode.AUTO, context=held)
    return quoted_answer(answer, found.quotes, is_marked=found.is_marked).text


def test_a_comparison_quotes_two_sections_of_a_passage() -> None:
    blocks = [("heading", "EN 50308"), ("paragraph", "Guard rails and hatches."),
              ("heading", "EN 365"), ("paragraph", "Marking of harnesses.")]  # fmt: skip
    text = shown("Compare EN 50308 and EN 365", blocks)
    assert "#### EN 50308 [1]\n\nGuard rails and hatches." in text
    assert "#### EN 365 [2]\n\nMarking of harnesses." in text
    assert "Guard" not in shown("What is EN 365?", blocks)
    rooms = [(kind, text.replace("EN ", "Room ")) for kind, text in blocks]
    held = Context((*manual(rooms).passages, passage(2, "Bread needs yeast.")))
    query = Query("Compare Room 50308 and Room 365")
    assert extract(query, held, embedder=None, most=3, confidence=1).answerability > 0.45


def test_a_piece_stands_under_its_heading_and_the_one_above() -> None:
    blocks = [("heading", "5.1.0, 30 November"), ("heading", "5.1.0, 30 November > Changed"),
              ("paragraph", "The beam is longer.")]  # fmt: skip
    text = shown("What has the beam changed?", blocks)
    assert text.startswith("#### 5.1.0, 30 November › Changed [1]\n\nThe beam")


def test_a_sentence_of_a_record_need_not_repeat_its_number() -> None:
    held = Context((passage(1, "INC-7741 was long. The pump failed.", "INC-7741: harbour"),))
    query = parse("Which pump of INC-7741 failed?", DEFAULT_PATTERNS)
    question = QuestionWords(question_weights(query.text, ()))
    lookup = RecordLookup.of(query, DEFAULT_PATTERNS)
    repeats, other = (each.overlap for each in offers_of(question, held, lookup))
    assert repeats < other == 1


def test_a_definition_has_its_name_and_all_its_lines() -> None:
    assert shown("What is the default of MAIL_TIMEOUT?") == (
        "#### MAIL_TIMEOUT [1]\n\nDefault: 30 (seconds)\n\n"
        "How long a connection to the mail server may take. See test --parallel."
    )


def test_steps_are_quoted_as_a_whole_list_with_their_introduction() -> None:
    text = shown("How do I run the installer?")
    assert text.startswith("#### Installing [1]\n\n")
    assert (
        "The server is small.\n\nHowever, it needs a disk. To install it:\n\n"
        "1. Fetch the archive.\n2. Run the installer.\n3. Start the server.\n\n"
    ) in text
    assert len(text) < 1100


def test_code_is_a_whole_block_after_the_sentence_that_introduces_it() -> None:
    text = shown("How do I import weigh from scale and measure a load?")
    code = "```\nfrom scale import weigh\n\nload = weigh(\n    beam=1,\n)\n```"
    assert f"Call weigh() to measure a load:\n\n{code}" in text.replace("**", "")


def test_a_term_of_a_list_is_shown_without_the_terms_before_it() -> None:
    items = ("-d name: The database.", "-t seconds: How long it waits.", "-U name: Who asks.")
    blocks = [("heading", "Options"), *(("list_item", each) for each in items)]
    (one,) = manual(blocks).passages
    terms = ((one.text.index(each), ("Manual", "Options", each[:2])) for each in items)
    held = Context((replace(one, sections=(*one.sections, *terms)), passage(2, "Bread rises.")))
    (quote,) = extract(Query("How long does it wait?"), held, embedder=None, most=1).quotes
    assert [one.text[part.start : part.end] for part in quote.parts] == [items[1]]


def test_a_piece_of_a_long_section_begins_with_the_paragraph_that_answers() -> None:
    before, after = ("Boats have sails of cloth. " * 10, "Masts are made of wood. " * 50)
    held = context(f"{before}\n\nOars float. The anchor is in the locker.\n\n{after}")
    (quote,) = extract(Query("Where is the anchor?"), held, embedder=None, most=1).quotes
    shown = held.passages[0].text[quote.parts[0].start : quote.parts[-1].end]
    assert shown.startswith("Oars float. The anchor is in the locker.")
    assert "wood" in shown


def test_a_term_is_defined_by_the_first_sentence_that_says_what_it_is() -> None:
    held = context(
        "Beams carry a beam and a beam. A beam is not glass. A beam is a bar. A beam is."
    )
    assert quoted("What is a beam?", held)[0] == "A beam is a bar."
    assert quoted("What do beams mean?", held)[0] != "A beam is a bar."  # another form of it


def test_the_first_sentence_below_the_name_of_a_term_defines_it() -> None:
    for question in ("What does set_now do?", "set_now"):
        assert quoted(question, manual(REFERENCE))[0] == "Writes the day of each save."


def test_a_name_that_the_question_says_is_no_answer() -> None:
    """A manual's section may begin with its command alone. The row of a table may answer."""
    held = context("oak check\n\nFinds beams that rot.")
    assert quoted("What does oak check do?", held) == ["Finds beams that rot."]
    held = context("Day | Shed\nMonday | open\nSunday | closed")
    assert quoted("Is the shed closed on Sunday?", held) == ["Sunday | closed"]


def test_a_section_that_the_question_names_is_a_surer_answer() -> None:
    sure = [
        extract(Query("How do I weigh oak?"), held, embedder=None, most=1, confidence=0.5)
        for held in (
            manual((("heading", name), ("paragraph", "To weigh oak, hang it on the beam.")))
            for name in ("Weighing oak", "Weighing wood", "Weighing oak by water")
        )
    ]
    assert sure[0].answerability > sure[1].answerability == sure[2].answerability


def test_only_a_definition_or_a_value_is_marked() -> None:
    """A wrong mark is worse than none: it ends in a colon, heads a table, or is a guess."""
    marked = {
        "What is a beam?": "A beam is a bar that carries a load.",
        "How long is the heavy beam of oak?": "The heavy beam of oak is 12 m long.",
        "Where is the beam kept?": "The beam is kept in the shed.",
        "What is a shed?": "A shed is one of these:",
        "How many heavy beams of oak?": "heavy beams of oak | 7 beams\n1 | 2",
    }
    for question, text in marked.items():
        held = Context((passage(1, text), passage(2, "Bread needs yeast.")))
        found = extract(Query(question), held, embedder=None, most=1, confidence=1)
        assert found.answerability >= SURE
        assert found.is_marked is ("bar" in text or "12 m" in text), question


def test_margin_over_nothing_is_not_measured() -> None:
    """Alone in its context a passage is no surer than beside one that says the same."""
    question, own = Query("Where is the beam kept?"), passage(1, "The beam is kept in the shed.")
    for others, is_sure in (((), False), ((passage(2, "Bread needs yeast."),), True)):
        held = Context((own, *others))
        found = extract(question, held, embedder=None, most=1, confidence=1)
        assert (found.answerability >= SURE) is is_sure


@pytest.mark.parametrize(
    ("question", "text", "is_sure"),
    [
        ("How many beams are in the shed?", "The shed has beams.", False),
        ("How many beams are in the shed?", "The shed has one of the beams.", False),
        ("How many beams are in the shed?", "The shed has twelve beams.", True),
        ("How many beams are in the shed?", "Name | Use\n14 | lead\nshed | oak beams", False),
        ("How many beams are in the shed?", "Name | Use\n14 | lead\nshed | 7 oak beams", True),
        ("How many beams are in the shed?", "The beams came to the shed on 19 March.", False),
        ("How many beams came in March?", "On 19 March 7 beams came.", True),
        ("How many beams are in the shed?", "The beams dry in the shed for 30 days.", False),
        ("How many days do the beams dry?", "The beams dry for 30 days.", True),
        ("What is the price of beams?", "The price of beams is on the list.", False),
        ("Wie viele Balken liegen im Schuppen?", "Im Schuppen liegen Balken.", False),
        ("Where does the shed of Zürich keep beams?", "The shed keeps beams.", False),
        ("Where does the shed of Zürich keep beams?", "The shed of Zurich keeps beams.", True),
        ("Where does the BSA keep beams?", "The association keeps beams.", False),
        ("Where Does The Shed Keep Oak Beams?", "The shed keeps beams.", True),
        ("Where are the beams of shed B?", "The beams of shed A lie on racks.", False),
        ("Where are the beams of shed B?", "The beams of shed A and shed B lie on racks.", True),
        ("Where are the beams of shed 3?", "The beams of shed 2 and 3 lie on racks.", True),
        ("Where are the beams of shed 3?", "The beams of shed 12 lie on 3.5 racks.", False),
        ("Where are the beams of shed 6?", "The beams of shed 9 (long) lie here: § 6.", False),
        ("Where does the shed of New York keep beams?", "The shed keeps new beams.", False),
        ("Where does Ada Weigher keep beams?", "The Weigher shed keeps beams.", True),
        ("Where does Acme Corporation keep beams?", "Acme keeps beams in a shed.", True),
        ("Where are the beams of shed 3?", "Beams of sheds 2 and 3 lie here, of shed 4 not.", True),
        ("Where are the beams of the third shed?", "The beams of the second shed lie here.", False),
        ("Where are the beams of the third shed?", "The beams of the third shed lie here.", True),
        ("Where did beams of May 1888 lie?", "Beams of May 1889 lie here, 1888 there.", True),
    ],
)
def test_missing_number_or_name_makes_no_answer(question: str, text: str, is_sure: bool) -> None:
    held = Context((passage(1, text), passage(2, "Bread rises.")))
    found = extract(Query(question), held, embedder=None, most=1, confidence=1)
    assert (found.answerability >= SURE) is is_sure


def test_nouns_of_german_are_no_names() -> None:
    question = Query("Welche Farbe hatte früher gewöhnlich Eichenholz?")
    for language, is_sure in (("de", True), ("en", False)):
        texts = "Eichenholz hatte früher gewöhnlich braune Töne.", "Brot geht auf."
        found = extract(
            question, context(*texts, language=language), embedder=None, most=1, confidence=1
        )
        assert (found.answerability >= SURE) is is_sure


def test_long_passage_leaves_sentences_of_another_to_compare() -> None:
    """Else its lead over them could not be measured."""
    embedder = Alike("shed")
    held = context("The beam is kept. " * 20, "The bar is in the shed.")
    extract(Query("Where is the beam kept?"), held, embedder=embedder, most=1)
    assert any("shed" in text for text in embedder.embedded)


KEPT = "The beam is kept in the shed."


def test_three_sentences_are_embedded_of_which_two_are_of_one_passage() -> None:
    embedder = Alike("shed")
    held = context(f"{KEPT} Bread rises. Yeast lives.", "Salt dissolves. Snow melts.")
    extract(Query("Where is the beam kept in the shed?"), held, embedder=embedder, most=1)
    assert embedder.embedded == [KEPT, "Bread rises.", "Salt dissolves."]


def test_margins_by_words_alone_count_as_those_with_meaning() -> None:
    words = QuestionWords(question_weights("beam shed", ()))
    first, other = offers_of(words, context(KEPT, "Bread rises."))
    # 2.4 + 3 + 2.2 for its words, 3 / rank, and all of it twice.
    assert scores([first, other], None).tolist() == pytest.approx([2 * (7.6 + 3), 2 * (3 / 2)])


@pytest.mark.parametrize(("config", "alike"), [("german", 0.82), ("english", 0.55)])
def test_search_in_a_language_that_the_model_does_not_know_is_surer(
    config: str, alike: float
) -> None:
    """German questions have .55 where the same ones in English have .82."""
    question, held = Query("Eichenholz Farbe"), context("Eichenholz hat Farbe.", "Brot geht auf.")
    response: Any = SimpleNamespace(
        query=question,
        ranking=SimpleNamespace(
            candidates=SimpleNamespace(readings=(Reading(config, chunks=1, words=1),))
        ),
        configuration=SimpleNamespace(
            space=SimpleNamespace(languages=("en",), config={}), patterns=DEFAULT_PATTERNS
        ),
        terms=(),
        confidence=0.55,
    )
    response.unfamiliar_language = vars(SearchResponse)["unfamiliar_language"].fget(response)
    found = extracted(response, held, AnswerParameters())
    same = extract(question, held, embedder=None, most=3, confidence=alike)
    assert found.answerability == pytest.approx(same.answerability)


def test_names_with_underscores_at_their_ends_are_no_emphasis() -> None:
    held = context("Guard it by __name__ and a__b of _c.")
    answer = Answered("1", "", "", Mode.AUTO, Mode.AUTO, context=held)
    found = extract(Query("guard it by"), held, embedder=None, most=1)
    text = quoted_answer(answer, found.quotes).text
    assert r"Guard it by \_\_name\_\_ and a__b of \_c." in text


def test_names_of_columns_are_quoted_with_their_only_row() -> None:
    tongues = "Name | Tongue" + "\nMalta | Maltese" * 90
    text = shown("area of Malta", [("table", tongues), ("table", "Malta: area | flag\n316 | red")])
    assert text.startswith(
        "#### Manual [1]\n\n| Malta: area | flag |\n| --- | --- |\n| 316 | red |"
    )


def test_table_is_quoted_as_its_header_and_the_row() -> None:
    text = shown("heavy kg limit")
    assert "| Beam | Limit |\n| --- | --- |\n| heavy | 500 kg |" in text
    assert "short" not in text


ROWS = "No. | Event\nINC-2014 | A hatch.\nINC-2041 | A ramp.\n | At night.\nINC-2041-B | A post."
ITEMS = "The log:\n\n- INC-2014: A hatch.\n- INC-2041: A ramp. At night.\n- INC-2401: A fan."


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        (ROWS, "What happened in INC-2041?", ["No. | Event", "INC-2041 | A ramp.", "| At night."]),
        (ROWS, "INC-2041-B", ["No. | Event", "INC-2041-B | A post."]),
        (ROWS, "INC-2041 and INC-2014", ROWS.replace("\n |", "\n|").split("\n")[:4]),
        (ITEMS, "INC-2041", ["The log:", "- INC-2041: A ramp.", "At night."]),
        (ITEMS.replace("4:", "4"), "INC-2041", ["The log:", "- INC-2041: A ramp.", "At night."]),
        ("1. Open HL-200.\n2. Close it.", "HL-200", ["1. Open HL-200.", "2. Close it."]),
        ("№ 118-v | guard\n№ 181-v | noon", "181-v", ["№ 181-v | noon"]),
        ("No. | Event\nم-١٠٢٣ | pump\nم-١٠٣٢ | crane", "م-1032", ["No. | Event", "م-١٠٣٢ | crane"]),
        ("No. | Test\nPRÜF-7 | hose\nPRÜF-70 | valve", "PRUEF-7", ["No. | Test", "PRÜF-7 | hose"]),
        (
            "A | No.\nacid | 67-64-1\nbase | 67-46-1",
            "What is 67-46-1?",
            ["A | No.", "base | 67-46-1"],
        ),
    ],
)
def test_a_record_is_quoted_without_its_neighbours(
    text: str, question: str, shown: list[str]
) -> None:
    """Rows of a table, and items of a list that begin with a label, are records."""
    quote = extract(parse(question, DEFAULT_PATTERNS), context(text), embedder=None, most=1).quotes[
        0
    ]
    parts = [text[part.start : part.end] for part in quote.parts]
    assert parts == shown


SEATS = "Room | Seats\n3 | 12\n12 | 40\nHall | 90"
LEVELS = "- Level 3: engineers\n- Level 4: makers\n- Level 5: nobody"
NESTED = "Level 2: all\nPrice: 0\nLevel 3: teams\nPrice: 40\nAt 9:30.\nLevel 4: firms\nPrice: 90"
SIGNS = "Symptom | Share\nFever | 80%\nFever after COVID-19 | 10%"


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        (SEATS, "How many seats has room 12?", ["Room | Seats", "12 | 40"]),
        (SEATS, "Which room has 12 seats?", SEATS.split("\n")),
        (SEATS, "What are the top 12 rooms?", SEATS.split("\n")),
        (LEVELS, "Who is level 4?", ["- Level 4: makers"]),
        (NESTED, "What does level 3 cost?", ["Level 3: teams", "Price: 40", "At 9:30."]),
        (LEVELS, "Who is level 3 and level 5?", LEVELS.split("\n")[::2]),
        (LEVELS, "Who is level 3 and 4?", LEVELS.split("\n")),
        (LEVELS, "Wer kommt nach Level 3?", LEVELS.split("\n")),
        (LEVELS, "level 3 to level 5", LEVELS.split("\n")),
        (
            "- Board: five\n- Level 5: none",
            "board or level 5",
            ["- Board: five", "- Level 5: none"],
        ),
        (SIGNS, "What are symptoms of COVID-19?", SIGNS.split("\n")),
    ],
)
def test_records_that_may_answer_are_not_left_out(
    text: str, question: str, shown: list[str]
) -> None:
    """A number may be a value, and a named record what others are compared with."""
    layout = [(at.start(), BlockKind.LIST_ITEM) for at in re.finditer("(?m)^.", text)]
    layout = layout if text == NESTED else []
    held = Context((passage(1, text, "COVID-19", layout=layout),))
    lookup = RecordLookup.of(parse(question, DEFAULT_PATTERNS), DEFAULT_PATTERNS)
    (offer, *_) = offers_of(QuestionWords({}), held, lookup)
    assert [text[part.start : part.end] for part in offer.parts] == shown


def test_initials_are_no_numbers_of_items() -> None:
    held = context("K. Beam, P. Hook")
    answer = Answered("1", "", "", Mode.AUTO, Mode.AUTO, context=held)
    found = extract(Query("hook"), held, embedder=None, most=1)
    assert "K. Beam, P. Hook" in quoted_answer(answer, found.quotes).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("If you receive one and have not clicked:", "If you clicked a link in a phishing mail:"),
        ("If you receive one and have not clicked a link:", "If you have clicked:"),
        ("Before you click:", "After a click:"),
    ],
)
def test_steps_for_the_case_asked_about_are_shown_and_none_is_marked(
    before: str, after: str
) -> None:
    """Those for the other case, marked, did harm; both stand under their conditions."""
    filler = "even if the sender seems to be a colleague whom you know well and have met today"
    steps = [f"{n}. Do not click any link in the mail, {filler}." for n in range(1, 5)]
    right = [f"{n}. Call the hotline: extension 4400, {filler}." for n in range(1, 6)]
    blocks = [("paragraph", before), *(("list_item", each) for each in steps)]
    blocks += [("paragraph", after), *(("list_item", each) for each in right)]
    text, layout = "", []
    for kind, block in blocks:
        layout.append((len(text), kind))
        text += f"{block}\n\n"
    own = passage(1, text.strip(), "Phishing mails", layout=tuple(layout))
    held = Context((own, passage(2, "Bread needs yeast.")))
    question = "What should I do if I clicked a link in a phishing mail?"
    found = extract(Query(question), held, embedder=None, most=1, confidence=1)
    (piece,) = found.quotes
    shown_text = own.text[piece.parts[0].start : piece.parts[-1].end]
    assert (after in shown_text, "extension 4400" in shown_text) == (True, True)
    assert not found.is_marked
