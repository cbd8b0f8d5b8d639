"""Preset test 7: the seeds' own retrieval cases, on small libraries written for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pytest import approx

from ingestion import spaces
from ingestion.models import ChunkEmbedding
from search.domain import QueryClass, Signal, Weights
from search.pipeline import Choices, SearchResponse, search
from search.presets.seeds import CONCEPT_RAG, INDEXFOUNDRY, PRESETS, SEEDS, TEXTBOOK
from search.retrieval import Filters
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "shelves")]


# S1: codes, a name that is no code, a regulation, and what only sounds like them.
MINE = {
    "d40.md": "# Region D40\n\nA dry gallery behind the second sump. The floor is sand.",
    "d41.md": "# Region D41\n\nA wet gallery behind the third sump, like the region before it.",
    "area.md": "# Area D\n\nThe area has forty galleries and a sump in each of its regions.",
    "aboleth.md": "# Bestiary\n\nAboleth. Armour 17, hit points 135, speed 10. It enslaves minds.",
    "lake.md": "# Underground lakes\n\nThings with tentacles live in flooded caves.",
    "rule.md": "# Machinery and equipment\n\n30 CFR 75.1725: machinery shall be kept in safe "
    "condition. MSHA inspects it under 30 CFR 75.",
    "talk.md": "# Inspections\n\nInspectors talk about machinery, its condition and its rules.",
    "safety.md": "# Safety requirements\n\nWear a helmet and a lamp. Test the air before entering, "
    "and keep two exits free.",
    "fire.md": "# Fire\n\nCoal dust and methane burn. Keep extinguishers at every crossing.",
    "privacy.md": "# Register\n\nPII-2024-0042 is the record of a lost key.",
}
# S2: four books, of which two say nothing in their text of what their titles say.
BOOKS = {
    "Distributed Systems for practitioners -- Author.pdf.md": "Nodes agree on a log through "
    "consensus, replicas fail and return, and clocks drift between machines.",
    "Distributed Computing Conference.md": "Papers on consensus, replication and on algorithms "
    "that run on many machines of a network.",
    "Continuous and Distributed Systems.md": "Partial differential equations of heat in a rod, "
    "their spectra and their stability.",
    "Understanding Distributed Systems.md": "The author thanks her family, her editor, and all "
    "who read the drafts over a long winter.",
}
# Next to them books of more chunks than concept-rag's depth: the vectors' list cannot hold all.
NEIGHBOURS = ("Parallel computing", "Concurrency", "Multicore processors")
PASSAGES = 12
SENTENCE = "Threads and processes share memory on {} processors of one machine, each with a cache. "
# The same four in a shop with twelve others, a paragraph each, some of which speak of both words.
SHOP = {
    "Computer Networks": "Routers, sockets and protocols; how packets of a network find their way.",
    "Cloud patterns": "Services in a cloud fail one by one: retries, queues and circuit breakers.",
    "Database internals": "Storage engines, logs and trees of systems that are distributed or not.",
    "Logical clocks": "The order of events in a distributed system without a common clock.",
    "Operating systems": "Processes, memory, files and devices of one machine.",
    "Microservices": "Small programs that are deployed alone and call each other.",
    "Signals and control": "Feedback, stability and filters of linear systems.",
    "Compilers": "Grammars, trees, registers and optimisation of programs.",
    "Queueing theory": "Waiting lines, service times and load of servers.",
    "Cryptography": "Keys, signatures and proofs that nobody can forge.",
    "Peer networks": "Machines without a centre share files and find each other.",
    "Parallel algorithms": "Sorting and searching on many processors at once.",
}
# S3: a glossary and chapters of a textbook on robots.
ROBOTS = {
    "slam.md": "# Glossary: SLAM\n\nSLAM: simultaneous localization and mapping. A robot builds a "
    "map while it finds its place in it.",
    "ekf.md": "# Glossary: EKF\n\nEKF: extended Kalman filter. It linearises the model around the "
    "estimate.",
    "localization.md": "# Localization overview\n\nLocalization tells a robot where it is: the "
    "pose is estimated from landmarks, odometry and a map.",
    "fusion.md": "# Sensor fusion\n\nSensor fusion algorithms combine measurements: Kalman "
    "filters, particle filters and complementary filters.",
    "kinematics.md": "# Forward kinematics\n\nForward kinematics (FK) is the joint-to-end-effector "
    "transformation: FK calculation multiplies the link matrices from base to gripper.",
    "planning.md": "# Path planning\n\nDijkstra and A* search a grid for the shortest way. A robot "
    "navigates along the path that they plan.",
    "perception.md": "# Sensors\n\nAn IMU measures turns, a lidar distances, a camera light. They "
    "are how a robot perceives the world.",
    "ros2.md": "# Navigation in ROS2\n\n```python\nfrom nav2 import Navigator  # ROS2\n\n"
    "def compute_route(goal):\n    return Navigator().route(goal)\n```",
    "ros1.md": "# Navigation in ROS1\n\nROS1 had a move_base node. Robotics courses used it for "
    "navigation until it was retired.",
}
# S4: a code base's notes.
CODE = {
    "store.md": "# VectorStore\n\nThe VectorStore interface has the methods upsert, query, delete "
    "and close.",
    "stores.md": "# Storing vectors\n\nVectors are kept in memory or in a database; each way of "
    "storing them has an interface of its own with methods.",
    "hybrid.md": "# Hybrid search\n\nHybrid search works by fusing a list by meaning with a list "
    "by keywords.",
    "retry.md": "# Retry\n\nA call that fails is tried again after a pause that doubles.",
}


@pytest.fixture(scope="module")
def shelves(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The libraries for all tests of this file, in a transaction around theirs."""
    with lasting(django_db_blocker):
        for name, documents in (("Mine", MINE), ("Robots", ROBOTS), ("Code", CODE)):
            collection = make_collection(name)
            for file_name, text in documents.items():
                make_document(collection, text, file_name=file_name)
        _fill_with_books()
        shop = make_collection("Shop")
        for title, text in (BOOKS | SHOP).items():
            # Its own text: the same file twice is one document.
            name = title.removesuffix(".md").replace(".pdf", "")
            make_document(shop, f"{text} A book.", file_name=f"{name}.txt")
        yield


def _fill_with_books() -> None:
    """The four books beside three on neighbouring matters; the vectors miss two of the four."""
    collection = make_collection("Books")
    for title in NEIGHBOURS:
        sections = (f"## {title} {n}\n\n{SENTENCE.format(n) * 12}" for n in range(PASSAGES))
        text = "\n\n".join(sections)
        document = make_document(collection, text, file_name=f"{title}.md", title=title)
        assert document.chunks.count() >= PASSAGES
    (elsewhere,) = spaces.embedder().embed_documents(["Bread of rye, baked with sourdough."])
    for file_name, text in BOOKS.items():
        document = make_document(collection, text, file_name=file_name.replace(".pdf", ""))
        if file_name.startswith(("Continuous", "Understanding")):
            rows = ChunkEmbedding.objects.filter(chunk__document=document)
            assert rows.update(vector=elsewhere.tolist()) == 1


def ask(shelf: str, text: str, profile: str = "", **choices: Any) -> SearchResponse:
    return search(
        text,
        viewer=None,
        filters=Filters(collections=(shelf,)),
        choices=Choices(profile=profile, **choices),
    )


def titles(shelf: str, text: str, profile: str = "", **choices: Any) -> list[str]:
    return [result.title for result in ask(shelf, text, profile, **choices).results]


def names(*groups: Any) -> list[str]:
    return [preset.name for group in groups for preset in group]


class TestIdentifiers:
    """S1: Region D40, D41 and Area D, and what else the record names."""

    @pytest.mark.parametrize("profile", names(PRESETS))
    @pytest.mark.parametrize("text", ["D40", "Tell me about D40", "What is D40?"])
    def test_s1_02_s1_44_exact_identifier_is_first(self, profile: str, text: str) -> None:
        """Under every profile: the identifier's tier stands above all weights (decision D2)."""
        assert titles("mine", text, profile)[0] == "Region D40"

    @pytest.mark.parametrize("profile", names(INDEXFOUNDRY))
    @pytest.mark.parametrize(
        ("text", "first"),
        [
            pytest.param("Aboleth", "Bestiary", id="S1-03 S1-46"),
            pytest.param("MSHA 30 CFR 75", "Machinery and equipment", id="S1-04"),
            pytest.param("30 CFR 75.1725", "Machinery and equipment", id="S1-47"),
            pytest.param("PII-2024-0042", "Register", id="S1-07"),
            pytest.param("Explain regulation 75.1725", "Machinery and equipment", id="S1-09"),
            pytest.param("What are the safety requirements?", "Safety requirements", id="S1-45"),
            pytest.param("Tell me about fire hazards", "Fire", id="S1-08 S1-40"),
        ],
    )
    def test_s1_39_identifier_is_within_the_first_three(
        self, profile: str, text: str, first: str
    ) -> None:
        assert first in titles("mine", text, profile)[:3]

    def test_s1_43_d40_has_the_whole_keyword_score(self) -> None:
        best = ask("mine", "D40", "indexfoundry").results[0].hit
        assert best.explanation.share(Signal.KEYWORD) == approx(1.0)


# The others scale BM25 and WordNet.
UNSCALED = ("titles", "semantics", "strict")


class TestTitles:
    """S2-01 to S2-03: the four books of the record's confirmation."""

    QUESTION = "Distributed Systems"
    FOUR = {
        "Distributed Systems for practitioners",  # S2-12: without the author and the extension
        "Distributed Computing Conference",
        "Continuous and Distributed Systems",
        "Understanding Distributed Systems",
    }

    def found(self, profile: str, **choices: Any) -> set[str]:
        return self.FOUR & set(titles("books", self.QUESTION, profile, **choices)[:4])

    def test_s2_01_meaning_alone_finds_two_of_four(self) -> None:
        assert self.found("vector-only") == {
            "Distributed Systems for practitioners",
            "Distributed Computing Conference",
        }

    def test_d13_vector_candidates_alone_find_two_of_four(self) -> None:
        """As the seed retrieves: a title that the vectors' list lacks is lost."""
        assert self.found("concept-rag:strict") == self.found("vector-only")

    @pytest.mark.parametrize(
        "profile",
        [*(name for name in names(CONCEPT_RAG) if name != "concept-rag:strict"), "default"],
    )
    def test_s2_03_title_signal_finds_four_of_four(self, profile: str) -> None:
        """D13: two of them lie outside the vectors' list, and are found by their titles."""
        assert self.found(profile) == self.FOUR

    def test_s2_03_title_with_all_words_leads_although_meaning_decides(self) -> None:
        """Of *Continuous and Distributed Systems* only the title speaks of them."""
        found = ask("shop", self.QUESTION, "default").results
        assert {each.title for each in found[:5]} >= self.FOUR
        by_title = "its title or heading has all words of the question"
        assert [each.hit.explanation.tier.reason for each in found[:4]] == [by_title] * 3 + [""]

    def test_one_word_is_no_title(self) -> None:
        found = ask("shop", "Systems", "default").results
        assert not any(each.hit.explanation.tier.reason for each in found)

    def test_forced_weights_have_no_titles_before_them(self) -> None:
        found = ask("shop", self.QUESTION, "default", weights=Weights(1, 0, 0)).results
        assert not any(each.hit.explanation.tier.reason for each in found)

    def test_s2_09_meaning_finds_neighbouring_titles(self) -> None:
        found = titles("books", "concurrency on many cores", "concept-rag")
        assert found[0] in NEIGHBOURS

    @pytest.mark.parametrize("profile", ["concept-rag", *map("concept-rag:{}".format, UNSCALED)])
    def test_s2_08_the_score_is_the_plain_sum(self, profile: str) -> None:
        response = ask("books", self.QUESTION, profile)
        for result in response.results:
            parts = result.hit.explanation.contributions
            assert result.hit.score == approx(sum(p.weight * (p.raw or 0) for p in parts))


class TestTextbook:
    """S3: look-ups and paraphrases."""

    @pytest.mark.parametrize("profile", ["textbook", "textbook:adaptive", "default"])
    @pytest.mark.parametrize(
        ("text", "first"),
        [
            pytest.param("Define SLAM", "Glossary: SLAM", id="S3-17"),
            pytest.param("SLAM", "Glossary: SLAM", id="S3-15"),
            pytest.param("EKF", "Glossary: EKF", id="S3-18"),
            pytest.param("Dijkstra", "Path planning", id="S3-18 too"),
            pytest.param("what is forward kinematics", "Forward kinematics", id="S3-12"),
            pytest.param("explain FK", "Forward kinematics", id="S3-07"),
            pytest.param("how does a robot know where it is?", "Localization overview", id="S3-13"),
            pytest.param("what is localization", "Localization overview", id="S3-26"),
            pytest.param("how does sensor fusion work", "Sensor fusion", id="S3-40"),
            pytest.param("sensor fusion algorithms", "Sensor fusion", id="S3-14"),
            pytest.param("show me ROS2 code", "Navigation in ROS2", id="S3-40 code"),
            pytest.param("compute_route", "Navigation in ROS2", id="S3-19"),
            pytest.param("sensors", "Sensors", id="S3-27"),
        ],
    )
    def test_textbook_profile_finds_the_right_section_first(
        self, profile: str, text: str, first: str
    ) -> None:
        assert titles("robots", text, profile)[0] == first

    @pytest.mark.parametrize("profile", names(SEEDS))
    def test_s3_16_ros2_is_no_ros1(self, profile: str) -> None:
        """Whole tokens: neither ROS1 nor robotics has a keyword score for ROS2."""
        (ros1,) = (
            result.hit.explanation
            for result in ask("robots", "ROS2", profile, weights=Weights(0.5, 0.5, 0)).results
            if result.title == "Navigation in ROS1"
        )
        assert ros1.share(Signal.KEYWORD) == 0

    def test_s3_18_a_star_is_found_in_quotes(self) -> None:
        """The tokenizer drops the star, there and here; a phrase is also read as it stands."""
        assert titles("robots", '"A*"', "textbook") == ["Path planning"]

    def test_s3_28_both_signals_contribute(self) -> None:
        best = ask("robots", "Explain SLAM algorithms", "textbook").results[0].hit.explanation
        assert best.share(Signal.VECTOR) > 0
        assert best.share(Signal.KEYWORD) > 0

    def test_s3_39_the_baselines_use_one_signal(self) -> None:
        for name, signal in (("100/0", Signal.KEYWORD), ("0/100", Signal.VECTOR)):
            for hit in ask("robots", "Explain SLAM algorithms", f"textbook:{name}").hits:
                assert hit.explanation.share(signal) == 0

    @pytest.mark.parametrize("profile", names(TEXTBOOK))
    def test_s3_29_keyword_strengths_lie_in_the_unit_interval(self, profile: str) -> None:
        for hit in ask("robots", "how does sensor fusion work", profile).hits:
            assert all(0 <= part.normalised <= 1 for part in hit.explanation.contributions)


class TestMind:
    """S4-04, S4-06 to S4-12."""

    @pytest.mark.parametrize("profile", ["mind", "default"])
    @pytest.mark.parametrize(
        ("text", "query_class", "first"),
        [
            pytest.param("What is VectorStore interface", "lookup", "VectorStore", id="easy"),
            pytest.param("How does hybrid search work", "concept", "Hybrid search", id="medium"),
            pytest.param("implement retry logic", "code", "Retry", id="S4-08"),
        ],
    )
    def test_s4_04_mind_profile_finds_the_right_file_first(
        self, profile: str, text: str, query_class: str, first: str
    ) -> None:
        response = ask("code", text, profile)
        assert response.classification.query_class == QueryClass(query_class)
        assert response.results[0].title == first

    @pytest.mark.parametrize("profile", ["mind", "default"])
    @pytest.mark.parametrize(
        ("text", "after"),
        [
            pytest.param("What is VectorStore interface", 0.63, id="easy"),
            pytest.param("How does hybrid search work", 0.78, id="medium"),
        ],
    )
    def test_s4_02_confidence_is_above_the_records_and_no_fused_score(
        self, profile: str, text: str, after: float
    ) -> None:
        response = ask("code", text, profile)
        assert response.confidence is not None
        assert response.confidence > after
        if profile == "mind":  # F4-05: its ranks can give no more
            assert response.hits[0].score == pytest.approx(1.2 / 61)

    def test_candidates_of_both_signals_come_first(self) -> None:
        hits = ask("code", "storing vectors by keywords", "mind").hits
        both = [
            all(h.explanation.share(s) > 0 for s in (Signal.VECTOR, Signal.KEYWORD)) for h in hits
        ]
        assert both == sorted(both, reverse=True)
        assert any(both)
        assert not all(both)
