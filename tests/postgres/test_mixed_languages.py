"""Keywords on collections of several text configurations, and of long questions (ADR 1)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pytest import approx

from ingestion.lexical.bigrams import spaced
from ingestion.lexical.compounds import joined_sql, names_sql
from ingestion.lexical.languages import TEXT_CONFIGS
from ingestion.lexical.second_forms import acronyms_sql, folded_sql, numbers_sql
from ingestion.models import Chunk, Collection
from search.domain import Signal
from search.retrieval.word_lookup import MARKS
from search.signals import query_terms
from tests.support.database import lasting
from tests.support.factories import make_collection
from tests.support.laws import examples
from tests.support.written_chunks import ask, idfs, scores, shelve

pytestmark = pytest.mark.django_db


def idf(chunks: int, frequency: int) -> float:
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))


ENGLISH = ["pump and valve", "valve of the river", "bearings", "the river", "oil", "grease", "son"]


# Of every type that Postgres' parser knows.
TOKENS = """the de und A-1 plug-and-play it's x@y.org http://a.de/the?q=of 3.14 -5 v1.2.3 a/b the-of
größe année <b> &amp; 北 北京 รถ привет WHO's _x_ 10e3 /etc/the of."""


class TestStopWords:
    def test_stop_words_find_nothing_under_a_rare_configuration(self) -> None:
        collection = make_collection()
        pump, *_ = shelve(collection, "english", ENGLISH)
        [other] = shelve(collection, "simple", ["the and of who pump"])
        assert next(iter(scores("the pump and the valve"))) == pump
        assert set(idfs("the pump and the valve")) == {"pump", "valv"}
        assert other not in scores("the valve and the river")

    def test_query_of_stop_words_alone_finds_them_where_they_are_words(self) -> None:
        collection = make_collection()
        shelve(collection, "english", ENGLISH)
        [other] = shelve(collection, "simple", ["who are the who"])
        assert list(scores("the who")) == [other]

    def test_stop_words_of_the_query_language_are_ignored_in_the_main_configuration(self) -> None:
        """A detected language keeps its own words: `son` is a stop word in Spanish alone."""
        collection = make_collection()
        spanish = ["bomba the", "válvula", "río", "aceite", "grasa", "rey", "reina", "mar", "sol"]
        shelve(collection, "spanish", spanish)
        *_, son = shelve(collection, "english", ENGLISH)
        assert set(idfs("what is this of the river and the son")) == {"river", "son"}
        assert son in scores("what is this of the river and the son")

    def test_stop_words_of_the_main_configuration_are_ignored_in_a_query_of_unknown_language(
        self,
    ) -> None:
        collection = make_collection()
        shelve(collection, "spanish", ["bomba", "válvula", "río", "aceite", "grasa", "rey", "mar"])
        shelve(collection, "english", ["a son of the river"])
        assert set(idfs("son río")) == {"rio"}

    def test_stop_words_in_hyphens_and_addresses_follow_the_parser(self) -> None:
        collection = make_collection()
        shelve(collection, "english", ["plug-and-play", "see http://the.org/and/of", *ENGLISH])
        shelve(collection, "simple", ["and the of plug-and-play http://the.org/and/of"])
        found = {"plugandplay", "plug", "play"}  # the first for plug-and-play, too (ADR 44)
        assert set(idfs("plug-and-play")) == found
        assert set(idfs("http://the.org/and/of")) == {"the.org/and/of", "the.org", "/and/of"}

    def test_languages_without_word_breaks_have_no_stop_words(self) -> None:
        collection = make_collection()
        [pump] = shelve(collection, "simple", ["水 水泵 泵 the"])
        shelve(collection, "english", ["the pump"])
        assert pump in scores("水泵")

    def test_stop_words_of_synonyms_are_ignored_too(self) -> None:
        collection = make_collection()
        pump, *_ = shelve(collection, "english", ENGLISH)
        shelve(collection, "simple", ["the of and", "who"])
        found = scores("lift", Signal.SYNONYM, expansions=("the pump", "pump and the pump"))
        assert found == {pump: approx(idf(9, 1) * terms_weight(pump, "pump"), rel=1e-4)}
        assert scores("pump", Signal.SYNONYM, expansions=("the pump",)) == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(
    text=st.lists(
        st.sampled_from(TOKENS.split()) | st.text(max_size=8).filter(lambda text: "\0" not in text),
        max_size=30,
    ).map(" ".join)
)
def test_stop_words_are_recognised_by_their_positions(text: str, db: None) -> None:
    """Every configuration numbers the words of a text as `simple` does, which drops none."""
    text = text.encode("utf-8", "ignore").decode()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT config FROM unnest(%(configs)s::text[]) config"
            " WHERE EXISTS ("
            "  SELECT p FROM unnest(to_tsvector(config::regconfig, %(text)s)) l,"
            "                unnest(l.positions) p"
            "  EXCEPT SELECT p FROM unnest(to_tsvector('simple', %(text)s)) l,"
            "                       unnest(l.positions) p)",
            {"configs": sorted(set(TEXT_CONFIGS.values())), "text": text},
        )
        assert cursor.fetchall() == []


PLAIN = "".join(each for each in map(chr, range(32, 127)) if not each.isdigit() and each != "-")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(text=st.text(PLAIN, max_size=40).filter(lambda text: not MARKS.search(spaced(text))))
@example(text="What is the form of a beam?")
def test_a_text_without_marks_has_no_other_forms(text: str, db: None) -> None:
    """So that the lookup of a plain question need not look for any."""
    tables = (
        joined_sql("%(text)s::text"),
        names_sql("%(text)s::text"),
        numbers_sql("%(text)s::text", networks=False),
        folded_sql("%(text)s::text"),
        acronyms_sql("%(text)s::text", "'english'"),
    )
    forms = " + ".join(f"(SELECT count(*) FROM {table} forms)" for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {forms}", {"text": spaced(text)})
        assert cursor.fetchone() == (0,)


def terms_weight(chunk: int, lexeme: str) -> float:
    """The stored weight of a lexeme in a chunk."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT steelyard_term_id(%s)", [lexeme])
        (index,) = cursor.fetchone()
    weights = Chunk.objects.get(pk=chunk).terms
    return float(dict(zip(weights.indices(), weights.values(), strict=True))[index - 1])


class TestIdf:
    def test_idf_is_shared_by_the_readings_of_a_word(self) -> None:
        """All ten chunks are searched for bearings: one holds its stem, two hold it unstemmed."""
        shelve(collection := make_collection(), "english", ENGLISH)
        shelve(collection, "simple", ["bearings", "bearings pump", "other"])
        assert idfs("pump bearings") == {
            "pump": approx(idf(10, 2)),  # both read it alike
            "bear": approx(idf(7, 1)),
            "bearings": approx(idf(10, 3)),
        }

    def test_idf_ignores_configurations_where_the_word_is_a_stop_word(self) -> None:
        """Son is a word in English alone: the 7 English chunks count, not the 8 Spanish ones."""
        shelve(collection := make_collection(), "english", ENGLISH)
        spanish = ["bomba", "válvula", "río", "aceite", "grasa", "rey", "mar", "sol"]
        shelve(collection, "spanish", spanish)
        found = idfs("what is this of the river and the son")
        assert found == {"river": approx(idf(15, 2)), "son": approx(idf(7, 1))}

    def test_idf_is_tiny_for_the_stem_of_another_word(self) -> None:
        """Porter has the French stem port, which many English chunks hold and no French one."""
        shelve(collection := make_collection(), "english", ["port"] * 9 + ["porter"])
        shelve(collection, "french", ["pompe", "huile"])
        assert idfs("porter") == {"porter": approx(idf(10, 1)), "port": approx(idf(9, 9))}

    def test_idf_counts_each_configuration_once_for_several_synonyms(self) -> None:
        collection = make_collection()
        bearings = shelve(collection, "english", ENGLISH)[2]
        found = scores("balls", Signal.SYNONYM, expansions=("bearings", "bearing"))
        assert found == {bearings: approx(idf(7, 1) * terms_weight(bearings, "bear"), rel=1e-4)}


@pytest.mark.usefixtures("statements_compiled_anew")
class TestLongQueries:
    def test_long_queries_use_the_heaviest_terms(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(query_terms, "MAX_TERMS", 2)
        shelve(make_collection(), "simple", ["a b c d", "a b c", "a b", "a"])
        found = ask("a b c d nowhere")
        assert [term.lexeme for term in found.terms] == ["d", "c"]
        assert found.left_out == 2
        found = ask("a b b b b b c d")
        assert [term.lexeme for term in found.terms] == ["d", "b"]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("x" * 4_000, id="one word"),
            pytest.param("pump " * 800, id="one word repeated"),
            pytest.param(" ".join(f"word{i}" for i in range(500)), id="many words"),
            pytest.param("a-" * 2_000, id="hyphens"),
            pytest.param("'\\" * 2_000, id="quotes"),
        ],
    )
    def test_queries_of_4000_characters_are_accepted(self, text: str) -> None:
        collection = make_collection()
        shelve(collection, "english", [*ENGLISH, " ".join(f"word{i}" for i in range(300))])
        shelve(collection, "simple", ["a pump"])
        assert len(ask(text).terms) <= query_terms.MAX_TERMS


# A collection of generated Spanish: each chunk has the words of a topic among stop words.
_STOPS = {
    "spanish": "de la que el en y a los del se las por un para con no una su al lo",
    "english": "the of and to in is that it was for on are as with his they at be",
    "german": "der die und in den von zu das mit sich des auf für ist im dem nicht",
}
STOPS = {language: words.split() for language, words in _STOPS.items()}
CHUNKS, TOPICS, ASKED = 120, 30, 12
Queries = dict[str, set[int]]


def generated(chance: random.Random, topic: int) -> str:
    words = [f"asunto{topic}x{chance.randint(1, 4)}" for _ in range(4)]
    words += [f"comun{chance.randint(1, 12)}" for _ in range(4)]
    words += chance.choices(STOPS["spanish"], k=12)
    chance.shuffle(words)
    return " ".join(words)


@pytest.fixture(scope="module")
def spanish(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[Queries, float]]:
    """The queries of the collection, each with the chunks of its topic; the measure of them all."""
    chance = random.Random(5)
    with lasting(django_db_blocker):
        texts = [generated(chance, i % TOPICS) for i in range(CHUNKS)]
        chunks = shelve(make_collection(), "spanish", texts)
        queries = {
            " ".join(
                [*chance.sample(STOPS["spanish"], 5), f"comun{topic % 12 + 1}"]
                + [f"asunto{topic}x{number}" for number in (1, 2)]
            ): {chunk for i, chunk in enumerate(chunks) if i % TOPICS == topic}
            for topic in range(ASKED)
        }
        yield queries, measured({query: list(scores(query)) for query in queries}, queries)


def ndcg(ranking: Sequence[int], relevant: set[int]) -> float:
    """nDCG@10 with grades 0 and 1 (Järvelin & Kekäläinen 2002)."""
    gained = sum(1 / math.log2(i + 2) for i, chunk in enumerate(ranking[:10]) if chunk in relevant)
    return gained / sum(1 / math.log2(i + 2) for i in range(min(10, len(relevant))))


def measured(rankings: dict[str, list[int]], queries: Queries) -> float:
    return sum(ndcg(rankings[query], queries[query]) for query in queries) / len(queries)


class TestForeignChunks:
    """Up to 5% chunks of another configuration, full of the stop words of every language."""

    @settings(
        suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40)
    )
    @given(
        config=st.sampled_from(["simple", "english", "german", "portuguese"]),
        texts=st.lists(
            st.lists(
                st.sampled_from([word for stops in STOPS.values() for word in stops])
                | st.integers(1, 9).map(lambda number: f"foreign{number}"),
                min_size=1,
                max_size=20,
            ).map(" ".join),
            min_size=1,
            max_size=CHUNKS * 5 // 100,
        ),
    )
    @example(config="simple", texts=[" ".join(STOPS["spanish"])] * 6)
    @example(config="simple", texts=["de"])
    def test_foreign_chunks_do_not_change_the_ranking_by_stop_words(
        self, config: str, texts: list[str], spanish: tuple[Queries, float]
    ) -> None:
        queries, before = spanish
        with transaction.atomic():
            foreign = set(shelve(Collection.objects.get(), config, texts))
            after = {query: list(scores(query)) for query in queries}
            transaction.set_rollback(True)
        assert not any(foreign & set(ranking) for ranking in after.values())
        assert measured(after, queries) == approx(before, abs=0.005)
        assert before > 0.5  # the law says something
