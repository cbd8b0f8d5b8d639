"""Corrections come from the words of what is searched, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from common.accounts.models import User
from ingestion.models import Visibility
from search.domain import Weights
from search.pipeline import Choices, Purpose, SearchResponse, search
from search.retrieval import Filters
from search.retrieval.spelling_candidates import MOST_CHUNKS
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

KEYWORDS = Weights(0, 1, 0)
ROBOTS = (
    "# Robot arms\n\nForward kinematics gives the place of the gripper from the joints. "
    "Inverse kinematics goes the other way. Programs are written in Python and tested at night."
)
VALVES = "# Valves\n\nEach valve of the pumping station is checked once a month by two people."
GERMAN = "# Urlaub\n\nDie Genehmigung des Urlaubs erteilt die Leitung der Abteilung schriftlich."
SECRET = "# Zanzibar\n\nThe gyroscopes of project Zanzibar are calibrated at the lighthouse."


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The documents for all tests of this file, in a transaction around theirs."""
    with lasting(django_db_blocker):
        handbook = make_collection("Handbook", language="en")
        make_document(handbook, ROBOTS, file_name="robots.md")
        make_document(handbook, VALVES, file_name="valves.md")
        make_document(make_collection("Regal", language="de"), GERMAN, file_name="urlaub.md")
        secrets = make_collection(
            "Secrets", language="en", visibility=Visibility.GROUPS, groups=["insiders"]
        )
        make_document(secrets, SECRET, file_name="zanzibar.md")
        yield


def ask(
    text: str, *, viewer: Any = None, exact: bool = False, insist: bool = False, **options: Any
) -> SearchResponse:
    """By keywords alone: the vector signal finds something for whatever is asked."""
    choices = Choices(weights=KEYWORDS, exact=exact, insist=insist)
    return search(text, viewer=viewer, choices=choices, **options)


def test_a_word_that_begins_with_an_umlaut_is_corrected() -> None:
    """German stems have none."""
    shelf = make_collection("Arzneien", language="de")
    make_document(shelf, "Die Höchstdosis Articain steht auf der Packung.", file_name="dosis.txt")
    assert ask("höchstdosiss Articain").corrected_from == "höchstdosiss Articain"


def test_a_word_that_begins_with_a_dotted_capital_is_corrected() -> None:
    make_document(make_collection("Gezi", language="tr"), "İstanbul vapuru", file_name="gezi.txt")
    assert ask("istambul vapuru").corrected_from == "istambul vapuru"


def test_both_of_two_misspelt_words_are_corrected() -> None:
    """The passages of a stem that are read first all have another word of it."""
    shelf = make_collection("Manual", language="en")
    for number in range(MOST_CHUNKS + 2):
        make_document(shelf, f"A manager and managers, the {number}th.", file_name=f"{number}.txt")
    make_document(shelf, "Write a management command.", file_name="commands.txt")
    answer = ask("write my own managment comand")
    assert answer.corrected_from
    assert answer.query.original == "write my own management command"


@pytest.mark.usefixtures("library")
class TestSuggestion:
    @pytest.mark.parametrize(
        ("text", "suggestion"),
        [
            pytest.param("forward kynematics", "forward kinematics", id="one word of two"),
            pytest.param("Forward Kynematics?", "Forward Kinematics?", id="case and punctuation"),
            pytest.param("pyhton gripper", "python gripper", id="letters swapped"),
            pytest.param("gripper jionts", "gripper joints", id="two letters swapped, plural"),
            pytest.param("oints of a gripper", "joints of a gripper", id="first letter left out"),
            pytest.param("talve station", "valve station", id="another first letter"),
            pytest.param("valve stattion pumpng", "valve station pumping", id="two words"),
            pytest.param("robbot gripper", "robot gripper", id="a word of a title"),
            pytest.param("Genemigung Urlaub", "Genehmigung Urlaub", id="German"),
            pytest.param("gripper -kynematics", "", id="an excluded word"),
            pytest.param("gripper title:robbot", "", id="a field"),
            pytest.param("gripper 20244 D-41x", "", id="numbers and codes"),
            pytest.param("gripper bicycle", "", id="nothing is near"),
            pytest.param("how does the gripper work with you", "", id="stop words are known"),
        ],
    )
    def test_misspelt_query_gets_this_suggestion(self, text: str, suggestion: str) -> None:
        answer = ask(text, exact=True)
        assert answer.suggestion == suggestion
        assert answer.corrected_from == ""
        assert answer.query.original == text

    def test_a_word_known_under_any_language_is_known(self) -> None:
        assert ask("Genehmigung kinematics").suggestion == ""

    def test_a_phrase_stays_as_typed(self) -> None:
        answer = ask('"forward kynematics"', insist=True)
        assert (answer.total, answer.suggestion, answer.corrected_from) == (0, "", "")
        relaxed = ask('"forward kynematics"')
        assert (relaxed.total, relaxed.suggestion, relaxed.corrected_from) == (1, "", "")
        assert relaxed.loosened


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param("Kafka gripper", ("Kafka",), id="a name"),
        pytest.param("gripper of the NASA robots", ("NASA",), id="an acronym"),
        pytest.param("is valve_robot_python for joints", ("valve_robot_python",), id="parts known"),
        pytest.param("GripperJoint RobotPart", ("GripperJoint", "RobotPart"), id="camel case"),
        pytest.param("the valve V-77", ("V-77",), id="a code"),
        pytest.param("tell me about the pump, explain its codes", ("codes",), id="words of asking"),
        pytest.param("erkläre Urlaub", (), id="words of asking in German"),
        pytest.param("please show or describe Python", (), id="nothing is missing"),
        pytest.param("Genehmigung 12", (), id="a number alone"),
    ],
)
def test_words_and_names_that_no_text_has_are_missing(text: str, missing: tuple[str, ...]) -> None:
    assert ask(text).unknown == missing


def test_an_identifier_is_there_in_any_form_and_where_it_may_be_read(member: User) -> None:
    make_document(make_collection("Plant"), "Pump D-40 stands in the cellar.", file_name="pump.md")
    secret = make_collection("Attic", visibility=Visibility.GROUPS, groups=["insiders"])
    make_document(secret, "Pump D-50 stands in the attic.", file_name="hidden.md")
    assert ask("tell me about D40").unknown == ()
    assert ask("tell me about D50").unknown == ("D50",)
    assert ask("tell me about D50", viewer=member).unknown == ()


@pytest.mark.usefixtures("library")
class TestWhatIsSearched:
    def test_nothing_is_corrected_into_a_hidden_word(self, member: User) -> None:
        assert ask("gyroskopes").total == 0
        assert ask("gyroskopes", viewer=member).corrected_from == "gyroskopes"

    def test_corrections_come_from_the_requested_collections_only(self) -> None:
        elsewhere = Filters(collections=("regal",))
        assert ask("Urlaub kynematics", filters=elsewhere).suggestion == ""
        assert ask("Urlaub kynematics collection:regal").suggestion == ""


@pytest.mark.usefixtures("library")
class TestCorrection:
    def test_a_query_that_found_nothing_is_corrected(self) -> None:
        answer = ask("kynematics")
        assert answer.query.original == "kinematics"
        assert answer.corrected_from == "kynematics"
        assert answer.suggestion == ""
        assert [result.title for result in answer.results] == ["Robot arms"]
        assert "<mark>kinematics</mark>" in answer.results[0].snippet

    def test_query_with_known_words_and_no_results_is_corrected(self) -> None:
        for page in (1, 2):
            answer = ask("gripper kynematics Kafka", page=page)
            assert answer.query.original == "gripper kinematics Kafka"
            assert answer.corrected_from == "gripper kynematics Kafka"
            assert (answer.total, answer.unknown) == (1, ("Kafka",))
        assert answer.sentences[0] == (
            "Results for “gripper kinematics Kafka”, because nothing is spelt “kynematics”."
        )

    def test_word_too_far_from_all_others_is_not_corrected(self) -> None:
        answer = ask("gripper forwwaad")
        assert (answer.corrected_from, answer.suggestion) == ("", "gripper forward")
        assert ask("forwwaad").corrected_from == "forwwaad"

    @pytest.mark.parametrize("purpose", [Purpose.TUNER, Purpose.MEASUREMENT])
    def test_only_searches_of_readers_are_corrected(
        self, purpose: Purpose, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        ask("warm up")
        with django_assert_num_queries(4):  # nobody sees a suggestion, so none is looked for
            answer = ask("gripper kynematics", purpose=purpose)
        assert (answer.corrected_from, answer.suggestion) == ("", "")

    def test_exact_search_is_not_corrected(self) -> None:
        answer = ask("kynematics", exact=True)
        assert (answer.total, answer.corrected_from) == (0, "")
        assert answer.suggestion == "kinematics"

    def test_a_correction_that_finds_nothing_changes_nothing(self) -> None:
        answer = ask('"valve checked" kynematics', insist=True)
        assert (answer.total, answer.corrected_from) == (0, "")


@pytest.mark.usefixtures("library")
class TestCost:
    @pytest.mark.parametrize(
        ("text", "queries"),
        [
            pytest.param("forward kinematics", 4, id="all known"),
            pytest.param("how does the gripper frobnic", 5, id="an unknown word, nothing near"),
            pytest.param("how does the gripper move", 4, id="an ordinary word that nobody wrote"),
            pytest.param("forward forwwaad", 5, id="a suggestion"),
            # Configuration, words, candidates (no page), spelling; the correction's words,
            # candidates and page.
            pytest.param("kynematics", 7, id="corrected"),
            pytest.param("D-41x 2024", 3, id="nothing to correct, nothing found"),
        ],
    )
    def test_spelling_takes_this_number_of_queries(
        self, text: str, queries: int, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        ask("warm up")
        with django_assert_num_queries(queries):
            ask(text)


def test_ordinary_english_words_are_left_alone() -> None:
    text = "# Calls\n\nInvoke the broad function, whether it returns or not."
    make_document(make_collection("Calls", language="en"), text, file_name="calls.md")
    for word in ("invoice", "bread", "weather"):
        assert ask(f"function {word}").suggestion == ""
    assert (ask("bread").total, ask("bread").corrected_from) == (0, "")
    assert ask("function inwoke brroad").query.text == "function invoke broad"


def test_correction_considers_all_forms_of_a_stem() -> None:
    collection = make_collection("Databases", language="en")
    for number in range(5):
        make_document(collection, f"# Note {number}\n\nThe relations of the tables, {number}.")
    make_document(collection, "# Queries\n\nOne query for each related object.")
    assert ask("relatd object").query.text == "related object"


def test_a_question_in_another_language_is_not_misspelt() -> None:
    text = "# Dates\n\nA date that is set ad hoc, for a fisher, is kept as such and not as another."
    make_document(make_collection("Dates", language="en"), text, file_name="dates.md")
    within = Filters(collections=("dates",))
    for question in ("Datei hoch", "wie lade ich eine Datei hoch"):
        answer = ask(question, filters=within)
        assert (answer.corrected_from, answer.suggestion) == ("", "")
        assert answer.other_language is not None
        assert (answer.other_language.question, answer.other_language.texts) == ("de", ("en",))
    assert ask("dat hoc", filters=within).other_language is None
    assert ask("anothr dates", filters=within).query.text == "another dates"
