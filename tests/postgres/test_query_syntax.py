"""The operators of a query bind every result, whatever signal found it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.models import Document
from search.domain import Hit, Query, Weights
from search.engine import configuration
from search.engine.ranking import ranking_of
from search.engine.settle import settle
from search.errors import SearchError
from search.pipeline import Choices, search
from search.query.parse import clean_text
from search.retrieval import Filters, Scope, retrieve
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.laws import examples
from tests.support.ranking import objects, wide_candidates
from tests.support.written_chunks import keywords_only, shelve

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

INSIST = Choices(insist=True)
DOCUMENTS = {
    "pumps.md": "# Water pumps\n\nThe pump station moves cold water uphill. Grease the bearings.",
    "station.md": "# Stations\n\nA station with a pump stands at the river, where water runs past.",
    "heat.md": "# Heating\n\nA heat pump warms the house with hot water from the ground.",
    "hamlet.md": "# Hamlet\n\nTo be, or not to be: that is the question of the prince.",
    "cpp.md": "# C++ for pumps\n\nThe driver of the pump is written in C++ and nothing else.",
    "c.md": "# Plain C\n\nThe old driver of the pump was written in C by someone.",
    "d40.md": "# Region D40\n\nThe pump of D40 stands in the dry gallery.",
    "airships.md": (
        "# Airships\n\nAs of now, the airship floats in the view of\nthe **old** mill, and nobody’s"
        " dog barks at it."
    ),
    "hangar.md": "# Hangar\n\n`hangar.num_gondolas` counts, my_propeller turns, RudderView steers.",
}
GERMAN = "# Pumpen\n\nDie Pumpen der Station fördern kaltes Wasser aus dem Fluss in den Speicher."


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The documents for all tests of this file, in a transaction around theirs."""
    with lasting(django_db_blocker):
        handbook = make_collection("Handbook")
        for name, text in DOCUMENTS.items():
            make_document(handbook, text, file_name=name)
        german = make_collection("Deutsches Regal", language="de")
        make_document(german, GERMAN, file_name="werk.txt")
        yield


def leaves(hit: Hit) -> list[tuple[str, float]]:
    """The adjustments of a hit's score, by name."""
    return [(part.label, part.value) for _, part in hit.explanation.adjustments]


def titles(text: str, **options: object) -> set[str]:
    return {result.title for result in search(text, viewer=None, **options).results}


@pytest.mark.usefixtures("library")
class TestOperators:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            pytest.param('"pump station"', {"Water pumps"}, id="words in this order"),
            pytest.param('"in the view"', {"Airships"}, id="with its stop words"),
            pytest.param('"as of now"', {"Airships"}, id="of stop words alone"),
            pytest.param('"view of the old mill"', {"Airships"}, id="over a line and marks"),
            pytest.param('"num_gondolas"', {"Hangar"}, id="a name after a dot"),
            pytest.param('"heat pump" "hot water"', {"Heating"}, id="two phrases"),
            pytest.param('"region d40"', {"Region D40"}, id="in the title"),
            pytest.param('"to be or not to be"', {"Hamlet"}, id="stop words alone"),
            pytest.param('driver "C++"', {"C++ for pumps"}, id="symbols count"),
            pytest.param('"kaltes Wasser"', {"werk"}, id="under the chunk's own language"),
            pytest.param('title:"region d40" pump', {"Region D40"}, id="title"),
            pytest.param("title:pumps title:water pump", {"Water pumps"}, id="each title word"),
            pytest.param('collection:"deutsches regal" pump', {"werk"}, id="collection's name"),
            pytest.param("type:txt pump", {"werk"}, id="type by extension"),
            pytest.param('type:"plain text" pump', {"werk"}, id="type by label"),
            pytest.param("lang:de pump", {"werk"}, id="language"),
            pytest.param("before:2000-01-01 pump", set(), id="before"),
        ],
    )
    def test_operators_narrow_the_result(self, text: str, found: set[str]) -> None:
        assert titles(text) == found

    @pytest.mark.parametrize(
        ("text", "gone"),
        [
            pytest.param("pump -bearings", {"Water pumps"}, id="word"),
            pytest.param('pump -"hot water"', {"Heating"}, id="phrase"),
            pytest.param("pump -gondolas", {"Hangar"}, id="in a dotted name"),
            pytest.param("pump -rudder", {"Hangar"}, id="in a camel name"),
            pytest.param("pump -num_gondolas", {"Hangar"}, id="a name in a name"),
            pytest.param("pump -gar", set(), id="not inside a word"),
            pytest.param('pump -"rudder"', set(), id="a quoted word is no part of a name"),
            pytest.param("D40 -gallery", {"Region D40"}, id="the identifier lane too"),
            pytest.param("pump -title:water", {"Water pumps"}, id="title"),
            pytest.param("pump -type:txt", {"werk"}, id="type"),
            pytest.param("pump -lang:de", {"werk"}, id="language"),
            pytest.param("pump -collection:deutsches-regal", {"werk"}, id="collection"),
        ],
    )
    def test_exclusions_leave_out_only_their_matches(self, text: str, gone: set[str]) -> None:
        everything = titles(text.split()[0])
        assert everything - titles(text, choices=INSIST) == gone

    @pytest.mark.parametrize(
        "text", ['"pump stations"', '"in view"', '"now of as"', '"gondolas"', '"the airship view"']
    )
    def test_phrase_matches_its_words_in_order(self, text: str) -> None:
        assert titles(text, choices=INSIST) == set()

    def test_a_phrase_of_very_common_words_says_what_was_read(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("search.retrieval.phrases.MOST_CHECKED", 1)
        response = search('"the pump" river', viewer=None)
        # Which one was read is the index's order.
        assert response.total == 1 or response.loosened
        assert "passages contain all words of “the pump”" in response.notes[0]
        monkeypatch.undo()
        assert search('"the pump" river', viewer=None).notes == ()

    def test_excluded_word_does_not_exclude_a_query_word_of_the_same_stem(self) -> None:
        assert titles("pumping -pumps", choices=INSIST) >= {"Stations", "Heating"}
        assert "Water pumps" not in titles("pumping -pumps", choices=INSIST)

    def test_operators_bind_a_search_by_meaning_alone(self) -> None:
        vector = Choices(weights=Weights(1, 0, 0))
        assert titles('"pump station" machine', choices=vector) == {"Water pumps"}
        assert "Water pumps" not in titles("machine -bearings", choices=vector)

    def test_operators_intersect_with_the_filters_of_the_page(self) -> None:
        handbook = Filters(collections=("handbook",))
        assert titles("collection:deutsches-regal pump", filters=handbook) == set()
        assert titles("type:txt pump", filters=Filters(media_types=("text/markdown",))) == set()
        assert titles("type:md title:region pump", filters=handbook) == {"Region D40"}

    def test_days_are_inclusive(self) -> None:
        Document.objects.filter(title="Hamlet").update(created="2020-05-05T12:00Z")
        assert titles("after:2020-05-05 before:2020-05-05 prince") == {"Hamlet"}
        assert titles("before:2020-05-04 prince") == set()

    @settings(
        max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        st.lists(
            st.one_of(
                st.sampled_from(['"', '-"', "-", "title:", "-title:", "collection:", "pump", " "]),
                st.text(max_size=8),
            ),
            max_size=10,
        ).map("".join)
    )
    def test_operators_in_any_text_are_searched_or_refused_with_a_reason(self, text: str) -> None:
        try:
            response = search(text, viewer=None)
        except SearchError:
            return
        assert response.query.original == clean_text(text)


WORDS = (
    "the", "of", "Pump", "pumps", "now", "view", "don’t", "C++", "read-only", "my_view", "Ärzte",
    "Aerzte", "José", "Jose",
)  # fmt: skip
FOLDED = {"Ärzte": ("Aerzte",), "José": ("Jose",)}
JOINTS = (" ", "\n", ", ", " **", ". ", " (")


def test_phrases_find_the_passages_with_exactly_these_words() -> None:
    """Against the same rule in Python, over random passages, by the index and by the tables."""
    random = Random(54)
    texts = [
        "".join(random.choice(WORDS) + random.choice(JOINTS) for _ in range(random.randint(3, 12)))
        for _ in range(80)
    ]
    shelf = make_collection("Phrases")
    chunks = shelve(shelf, "english", texts)
    within = Scope.of(None, Filters(collections=(shelf.slug,)))
    for _ in range(25):
        words = [random.choice(WORDS) for _ in range(random.randint(1, 4))]
        # What is typed without an accent stands for the word with one.
        spellings = ([w for w in WORDS if word in (w, *FOLDED.get(w, ()))] for word in words)
        pattern = r"\W+".join(f"(?:{'|'.join(map(re.escape, each))})" for each in spellings)
        held = re.compile(rf"(?<!\w){pattern}(?!\w)", re.IGNORECASE)
        expected = {pk for pk, text in zip(chunks, texts, strict=True) if held.search(text)}
        query = Query(" ".join(words), phrases=(" ".join(words),))
        scope = within.narrowed_by(query)
        assert set(scope.chunks.values_list("pk", flat=True)) == expected
        found = retrieve(Query("pump now the view", phrases=query.phrases), scope, keywords_only())
        assert {each.chunk_id for each in objects(found)} <= expected
        without = Query("pump", excluded=query.phrases, excluded_exactly=query.phrases)
        left = within.narrowed_by(without).chunks
        assert set(left.values_list("pk", flat=True)) == set(chunks) - expected


PASTED = 'reported today by my neighbour: the "heat pump" of the station runs hot -again'


@pytest.mark.usefixtures("library")
class TestRelaxed:
    """Operators that leave nothing, or are punctuation, do not filter; a note says so."""

    @pytest.mark.parametrize(
        ("text", "note"),
        [
            (
                '"pump river station"',
                "contains the exact words “pump river station”. Showing similar",
            ),
            ('"pump river" "grey cat"', "contains all of “pump river”, “grey cat”."),
            ('"heat pump" -warms', "contains “heat pump” without “warms”. Showing"),
            ("D40 title:region -gallery", "Every result contains “gallery”, so nothing"),
        ],
    )
    def test_relaxed_search_drops_operators_that_leave_nothing(self, text: str, note: str) -> None:
        response = search(text, viewer=None)
        assert response.total
        assert note in response.loosened[0]
        assert len(response.loosened) == 1
        insisting = search(text, viewer=None, choices=INSIST)
        assert (insisting.total, insisting.loosened) == (0, ())

    def test_relaxed_search_keeps_filters_that_leave_nothing(self) -> None:
        response = search('"heat pump" type:pdf', viewer=None)
        assert (response.total, response.loosened) == (0, ())

    def test_a_pasted_text_is_not_filtered(self) -> None:
        response = search(PASTED, viewer=None, group=False)
        assert response.total > 1
        assert response.loosened == (
            "The quotes around “heat pump” were read as text and require nothing.",
            "The hyphen before “again” was read as text and excludes nothing.",
        )
        assert titles(PASTED, choices=INSIST) == {"Heating"}

    def test_relaxed_search_costs_two_more_queries_only_without_results(
        self, django_assert_num_queries: Any
    ) -> None:
        search("pump", viewer=None)
        with django_assert_num_queries(6):
            search('"pump river station"', viewer=None)
        pasted = 'the pump station moves cold water uphill, a "heat pump" warms the house -hot'
        with django_assert_num_queries(4):
            assert search(pasted, viewer=None).loosened

    def test_what_if_ranks_the_same_passages(self) -> None:
        configured = configuration.current()
        profile = configured.profile()
        wide = wide_candidates(PASTED, configured, profile, viewer=None)
        live = search(PASTED, viewer=None, group=False)
        settled = settle(wide.query, configured, profile)
        whatif = ranking_of(wide, settled, configured, group=False)
        scores = {hit.chunk_id: hit.score for hit in live.hits}
        assert {hit.chunk_id: hit.score for hit in whatif.hits} == pytest.approx(scores)
