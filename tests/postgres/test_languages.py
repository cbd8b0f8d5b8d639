"""Text without word breaks is found, ranked and marked; a model's languages weigh."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import docx
import pytest
from django.db import connection
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pytest import approx

from ingestion import services
from ingestion.documents import processing_steps
from ingestion.embedding import CachedQueryEmbedder
from ingestion.errors import EmbeddingUnavailable
from ingestion.lexical.bigrams import spaced, spaced_sql
from ingestion.lexical.languages import detect_language
from ingestion.lexical.normal_form import normal_form, normal_form_sql
from ingestion.models import Chunk, Document, EmbeddingSpace
from ingestion.spaces.metered_embedder import MeteredEmbedder
from search.domain import QueryClass, Signal, Weights
from search.pipeline import Choices, SearchResponse, search
from search.presentation import marking
from search.presentation.document_text import passages_of
from search.query.language import VECTOR_SHARE
from search.retrieval import Filters
from tests.support.database import lasting
from tests.support.explanations import recomputed
from tests.support.factories import make_collection, make_document
from tests.support.laws import examples

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

KEYWORDS = Choices(weights=Weights(0, 1, 0), insist=True)
DOCUMENTS = {
    "泵站": "水泵站把冷水从河里送到山上。每个月都要给轴承加润滑油，并检查阀门。",
    "图书馆": "市图书馆每天早上九点开门。借书需要读者证，图书馆的阅览室在二楼。",
    "编程": "我们使用Python编程语言写后台服务，版本是３．１１，数据库用Postgres。",
    "天気": "明日の天気は晴れのち雨です。傘を持って出かけてください。",
    "カメラ": "新しいｶﾒﾗの使い方を説明します。電池を入れてから電源ボタンを押します。",
    "猫": "庭に子猫がいます。猫は魚が好きです。",
    "รถไฟ": "รถไฟไปเชียงใหม่ออกจากสถานีกรุงเทพทุกวันตอนหกโมงเย็น",
    "ตลาด": "ตลาดน้ำเปิดทุกวันเสาร์และขายผลไม้สด",
    "도서관": "도서관에서 책을 빌리려면 회원증이 필요합니다.",
    "Notes": "The old “gearbox”—rebuilt in March—hums. A plain sentence about 水 in English.",
}
GERMAN = (
    "Die Pumpen der Station fördern kaltes Wasser aus dem Fluss in den Speicher. "
    "Einmal im Monat werden die Lager geschmiert und die Ventile geprüft."
)
ENGLISH = "The pumps of the station lift cold water from the river. The valves are checked monthly."


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The documents for all tests of this file, in a transaction around theirs."""
    with lasting(django_db_blocker):
        shelf = make_collection("Shelf")
        for title, text in DOCUMENTS.items():
            make_document(shelf, text, file_name=f"{title}.txt", title=title)
        german = make_collection("Werk", language="de")
        make_document(german, GERMAN, file_name="werk.txt")
        english = make_collection("Works", language="en")
        make_document(english, ENGLISH, file_name="works.txt")
        yield


def titles(text: str, choices: Choices = KEYWORDS) -> list[str]:
    found = search(text, viewer=None, filters=Filters(collections=("shelf",)), choices=choices)
    return [result.title for result in found.results]


@pytest.mark.usefixtures("library")
class TestWithoutWordBreaks:
    @pytest.mark.parametrize(
        ("text", "best"),
        [
            pytest.param("润滑油", "泵站", id="Chinese, inside a sentence"),
            pytest.param("图书馆几点开门", "图书馆", id="Chinese question"),
            pytest.param("Python", "编程", id="Latin inside Chinese"),
            pytest.param("傘", "天気", id="one Japanese letter"),
            pytest.param("電源ボタン", "カメラ", id="Japanese, two scripts"),
            pytest.param("子猫", "猫", id="Japanese in title and text"),
            pytest.param("สถานีกรุงเทพ", "รถไฟ", id="Thai, inside a sentence"),
            pytest.param("ผลไม้", "ตลาด", id="Thai with marks"),
            pytest.param("책", "도서관", id="Korean without its particle"),
            pytest.param("gearbox", "Notes", id="English in typographic quotes"),
        ],
    )
    def test_text_without_word_breaks_is_found_by_a_word(self, text: str, best: str) -> None:
        assert titles(text)[0] == best

    def test_half_width_and_full_width_letters_match(self) -> None:
        assert titles("カメラ")[0] == titles("ｶﾒﾗ")[0] == "カメラ"

    def test_shared_word_ranks_before_a_shared_letter(self) -> None:
        assert set(titles("潜水艇")) == {"泵站", "Notes"}  # of the submarine only the water
        assert titles("火星") == []

    def test_the_better_match_comes_first(self) -> None:
        ranked = titles("猫は魚")
        assert ranked[0] == "猫"
        # Both hold 水; only one holds 冷水.
        assert titles("冷水") == ["泵站", "Notes"]

    def test_a_title_is_found_by_a_part_of_it(self) -> None:
        found = search(
            "图书", viewer=None, filters=Filters(collections=("shelf",)), choices=KEYWORDS
        )
        assert found.hits[0].candidate.raw[Signal.TITLE] == approx(1)

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            pytest.param('"阅览室"', ["图书馆"], id="a phrase inside a sentence"),
            pytest.param('"室阅览"', [], id="not in another order"),
            pytest.param('"使用Python编程"', ["编程"], id="a phrase of two scripts"),
            pytest.param('"天気は晴れ"', ["天気"], id="a Japanese phrase"),
            pytest.param('"魚" 猫', ["猫"], id="one letter that is a word"),
            pytest.param('"傘を"', ["天気"], id="a word and a particle"),
            pytest.param('"ตอนหกโมง"', ["รถไฟ"], id="a Thai phrase"),
            pytest.param('"傘、持" 天気', [], id="punctuation is no word"),
            pytest.param("猫 雨 -子猫", ["天気"], id="an excluded word"),
            pytest.param("title:图书 阅览室", ["图书馆"], id="a title's part"),
            pytest.param("title:の 猫", [], id="a particle in a title"),
            pytest.param('"plain sentence"', ["Notes"], id="English as ever"),
        ],
    )
    def test_phrases_and_exclusions(self, text: str, found: list[str]) -> None:
        assert titles(text) == found

    def test_a_particle_alone_is_taken_literally(self) -> None:
        assert set(titles('"の" 説明 天気')) == {"天気", "カメラ"}

    @pytest.mark.parametrize(
        ("text", "marked"),
        [
            pytest.param("润滑油", "<mark>润滑油</mark>", id="Chinese"),
            pytest.param("カメラ", "<mark>ｶﾒﾗ</mark>", id="half width"),
            pytest.param("เชียงใหม่", "<mark>เชียงใหม่</mark>", id="Thai"),
            pytest.param("gearbox", "“<mark>gearbox</mark>”—rebuilt", id="within quotes"),
        ],
    )
    def test_matched_words_are_marked(self, text: str, marked: str) -> None:
        found = search(text, viewer=None, choices=KEYWORDS)
        assert marked in found.results[0].snippet

    def test_matched_words_are_marked_on_the_document_page(self) -> None:
        document = Document.objects.get(title="泵站")
        reading = passages_of(document, viewer=None, requested=None, words="“润滑油” 冷水")
        html = "".join(str(part.html) for part in reading.passages[0].parts)
        assert html.count("<mark>") == 2
        assert "<mark>润滑油</mark>" in html

    def test_stored_text_and_offsets_are_unchanged(self) -> None:
        for chunk in Chunk.objects.select_related("version"):
            assert chunk.version.text[chunk.start : chunk.end] == chunk.text


@pytest.mark.parametrize("config", ["english", "simple", "german"])
def test_plain_text_keeps_its_lexemes(config: str, db: None) -> None:
    text = "The pumps' 3.5 kW motors (see D-40, a/b or x@y.org) don't hum; naïve café, Größe."
    statement = f"SELECT to_tsvector(%s, {spaced_sql('%s')}) = to_tsvector(%s, %s)"
    with connection.cursor() as cursor:
        cursor.execute(statement, [config, text, config, text])
        assert cursor.fetchone()[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(
    text=st.text(
        st.sampled_from("ae1m ﬁ²₂½℃㎡№ａำຳ€°®→►™´“’‐\u0301\u0308\xad\u200b\u200c\ufe0fﻼ\u0640'\\")
        | st.characters(codec="utf-8", exclude_characters="\0"),
        max_size=30,
    )
)
def test_sql_has_the_same_normal_form(text: str, db: None) -> None:
    assume(all(unicodedata.category(char) not in {"Cn", "Co"} for char in text))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {normal_form_sql('%s')}", [text])
        assert cursor.fetchone()[0] == normal_form(text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(text=st.text(alphabet="北京大学のカガｶﾞประเที่한국ာမက az1.,。“”—-\"'\\:", max_size=30))
def test_no_mixture_of_scripts_is_an_error(text: str, library: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {spaced_sql('%s')}", [text])
        assert cursor.fetchone()[0] == spaced(text)
    if any(map(str.isalnum, text)) and not text.lstrip().startswith("-"):
        search(f'"{text}" 猫', viewer=None, choices=KEYWORDS)


@pytest.mark.usefixtures("library")
class TestModelsLanguages:
    """The shipped default: .60/.30/.10 for a general question."""

    @pytest.fixture(autouse=True)
    def model_of_english(self, library: None) -> None:
        space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
        space.languages = ["en"]
        space.save()

    def ask(self, text: str, collection: str, **choices: Any) -> SearchResponse:
        filters = Filters(collections=(collection,))
        return search(text, viewer=None, filters=filters, choices=Choices(**choices))

    def test_language_unknown_to_the_model_raises_the_keyword_weight(self) -> None:
        answer = self.ask("Wohin fließt das Wasser der Pumpen", "werk")
        before = answer.profile.weights[answer.classification.query_class]
        assert answer.weights.vector == approx(before.vector * VECTOR_SHARE)
        assert answer.weights.keyword == approx(before.keyword + before.vector * (1 - VECTOR_SHARE))
        assert answer.weights.title == before.title
        assert answer.notes == (
            "The embedding model does not support German, so keywords count for more.",
        )

    @pytest.mark.parametrize(
        ("text", "collection"),
        [
            pytest.param("Where does the water of the pumps go", "works", id="a known language"),
            pytest.param("Wohin fließt das Wasser der Pumpen", "works", id="German on English"),
            pytest.param("Where does the water of the pumps go", "werk", id="English on German"),
            pytest.param("gearbox", "shelf", id="nobody can tell"),
        ],
    )
    def test_known_language_keeps_the_vector_weight(self, text: str, collection: str) -> None:
        answer = self.ask(text, collection)
        before = answer.profile.weights[answer.classification.query_class]
        assert answer.weights.vector >= before.vector
        assert not any("does not support" in note for note in answer.notes)

    def test_words_that_no_text_has_hide_nothing_in_a_language_unknown_to_the_model(self) -> None:
        answer = self.ask("Wie schwer darf ich die Ventile alleine heben", "werk")
        assert (answer.low_confidence, bool(answer.unknown)) == (True, True)
        assert not answer.fits_nothing
        assert self.ask("Wie schwer darf ich die Ventile alleine heben", "works").fits_nothing

    def test_language_is_recognised_by_its_script(self) -> None:
        assert "does not support Chinese" in self.ask("图书馆几点开门", "shelf").notes[0]
        assert "does not support Japanese" in self.ask("カメラの使い方", "shelf").notes[0]
        assert "does not support Thai" in self.ask("รถไฟไปเชียงใหม่", "shelf").notes[0]

    def test_mixed_library_gives_no_note_for_its_own_languages(self) -> None:
        def notes(text: str) -> tuple[str, ...]:
            filters = Filters(collections=("werk", "works"))
            return search(text, viewer=None, filters=filters).notes

        assert notes("Wohin fließt das Wasser der Pumpen") != ()
        assert notes("Where does the water of the pumps go") == ()

    def test_forced_weights_are_not_changed(self) -> None:
        forced = Weights(0.7, 0.3, 0)
        answer = self.ask("Wasser der Pumpen", "werk", weights=forced)
        assert answer.weights == forced
        assert answer.notes == ()

    @pytest.mark.parametrize("profile", ["textbook", "vector-only", "rrf"])
    def test_fixed_profiles_are_not_changed(self, profile: str) -> None:
        answer = self.ask("Wasser der Pumpen", "werk", profile=profile)
        assert answer.weights == answer.profile.weights[answer.classification.query_class]

    def test_a_model_of_many_languages_knows_all(self) -> None:
        EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).update(languages=[])
        space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
        space.save()
        assert self.ask("Wasser der Pumpen", "werk").notes == ()


@pytest.mark.usefixtures("library")
class TestPassagesInOtherLanguages:
    """A multilingual space: words count only for passages in the question's language (D12)."""

    QUESTION = "Wohin fließt eigentlich das kalte Wasser der Pumpen unserer Station?"

    @pytest.fixture(autouse=True)
    def multilingual(self, library: None) -> None:
        space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
        space.languages = []
        space.save()

    def ask(self, text: str = QUESTION, **choices: Any) -> SearchResponse:
        filters = Filters(collections=("werk", "works"))
        choices = {"query_class": QueryClass.GENERAL, **choices}
        return search(text, viewer=None, filters=filters, choices=Choices(**choices))

    def test_passage_in_another_language_is_scored_by_meaning_alone(self) -> None:
        answer = self.ask()
        by_language = {result.language: result.hit for result in answer.results}
        assert set(by_language) == {"de", "en"}
        weights = answer.weights
        parts = {part.signal: part for part in by_language["en"].explanation.contributions}
        assert parts[Signal.VECTOR].weight == approx(1)
        assert parts[Signal.KEYWORD].weight == parts[Signal.TITLE].weight == 0
        assert by_language["en"].score == approx(recomputed(by_language["en"]))
        assert "another language" in by_language["en"].explanation.note
        parts = {part.signal: part for part in by_language["de"].explanation.contributions}
        assert parts[Signal.VECTOR].weight == weights.vector
        assert by_language["de"].explanation.note == ""
        assert answer.notes[-1].startswith("The question is in another language (German)")


@pytest.mark.usefixtures("library")
class TestNearestSentence:
    """Snippets of passages without a word of the question mark the sentence nearest in meaning."""

    TEXT = (
        "The committee met on Tuesday and approved the minutes. "
        "Canines that bark through the night can be trained to stay calm. "
        "The budget for the next year was then discussed at length."
    )
    QUESTION = "how do I keep my dog quiet after dark"
    MEANING = Choices(weights=Weights(1, 0, 0))

    @pytest.fixture
    def minutes(self, library: None) -> None:
        make_document(make_collection("Minutes", language="en"), self.TEXT, file_name="m.txt")

    def ask(self, text: str = QUESTION) -> SearchResponse:
        filters = Filters(collections=("minutes",))
        return search(text, viewer=None, filters=filters, choices=self.MEANING)

    def test_nearest_sentence_is_marked(self, minutes: None) -> None:
        snippet = self.ask().results[0].snippet
        marked = snippet.partition('<mark class="nearest">')[2].partition("</mark>")[0]
        assert marked == "Canines that bark through the night can be trained to stay calm."
        assert snippet.count("<mark") == 1

    def test_nearest_sentence_is_not_marked_where_words_match(self, minutes: None) -> None:
        snippet = self.ask("how do I keep canines quiet after dark").results[0].snippet
        assert "<mark>Canines</mark>" in snippet
        assert "nearest" not in snippet

    def test_nearest_sentence_is_embedded_once(
        self, minutes: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = self.ask().results[0].snippet
        monkeypatch.setattr(MeteredEmbedder, "embed_batches", _forbidden)
        assert self.ask().results[0].snippet == first

    def test_nearest_sentence_is_skipped_after_its_time_limit(
        self, minutes: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(marking, "SECONDS", -1.0)
        with caplog.at_level("DEBUG", logger=marking.__name__):
            assert self.ask().results[0].snippet.startswith("The committee met")
        assert "No time for the nearest sentences" in caplog.text

    def test_nearest_sentences_stop_before_their_time_limit(
        self, minutes: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(marking, "SECONDS", -1.0)
            unmarked = self.ask().results[0]
        clock = iter((0.0, 0.0, 0.03, 0.06))  # the start, then 30 ms for each passage
        monkeypatch.setattr(marking, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
        monkeypatch.setattr(marking, "SECONDS", 0.05)
        space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
        first, second, third = marking.with_nearest([unmarked] * 3, self.QUESTION, space)
        assert first.is_nearest
        assert second == third == unmarked

    def test_a_failing_model_leaves_the_beginning(
        self, minutes: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(CachedQueryEmbedder, "embed_documents", _fails)
        assert self.ask().results[0].snippet.startswith("The committee met")

    def test_nearest_sentence_is_not_embedded_by_a_server(
        self, minutes: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(marking, "SECONDS", -1.0)
        results = self.ask().results
        monkeypatch.setattr(CachedQueryEmbedder, "embed_documents", _forbidden)
        space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
        space.config = {"kind": "openai"}
        assert marking.with_nearest(results, self.QUESTION, space) == results


def _forbidden(*_: object) -> None:
    raise AssertionError("embedded again")


def _fails(*_: object) -> None:
    raise EmbeddingUnavailable("The model is away.")


def _page(text: str, language: str) -> bytes:
    return f"<html lang={language}><p>{text}</p></html>".encode()


def _noted(text: str, language: str) -> bytes:
    return f"---\nlang: {language}\n---\n\n{text}\n".encode()


def _word_file(text: str, language: str) -> bytes:
    word = docx.Document()
    word.core_properties.language = language
    word.add_paragraph(text)
    stream = io.BytesIO()
    word.save(stream)
    return stream.getvalue()


class TestTheStatedLanguage:
    @pytest.mark.parametrize(
        ("content", "file_name"),
        [(_page, "a.html"), (_noted, "a.md"), (_word_file, "a.docx")],
        ids=["a page", "front matter", "Word"],
    )
    @pytest.mark.parametrize(
        ("text", "stated", "language"),
        [
            pytest.param(GERMAN, "en-US", "de", id="the text's is sure"),
            pytest.param("Kabel 4711", "de-AT", "de", id="too short to be sure"),
        ],
    )
    def test_the_text_is_believed_before_its_file(
        self,
        content: Callable[[str, str], bytes],
        file_name: str,
        text: str,
        stated: str,
        language: str,
    ) -> None:
        document = make_document(
            make_collection("Letters"), content(text, stated), file_name=file_name
        )
        assert document.current is not None
        assert document.current.language == language

    def test_a_person_is_believed_before_the_text(self) -> None:
        letters = make_collection("Letters")
        document = make_document(letters, GERMAN, file_name="a.txt")
        Document.objects.filter(pk=document.pk).update(language="nl", language_given=True)
        services.reprocess([document], acting_user=None)
        document.refresh_from_db()
        assert document.latest is not None
        processing_steps.advance(document.latest.pk)
        document.latest.refresh_from_db()
        assert document.latest.language == "nl"


def test_figures_are_in_no_language() -> None:
    assert not detect_language("6ff4681d-cd86-43e5-8722 " * 20)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        pytest.param("يصرف بدل السفر يوميا. تقدم الفواتير خلال أسبوع.", "ar", id="not Egypt's"),
        pytest.param("Rechnung\nVier Regalböden, zahlbar bis zum 15. April.", "de", id="German"),
        pytest.param("El contrato se renueva cada año en el mes de mayo.", "es", id="Spanish"),
        pytest.param("第十二条　年次有給休暇は入社六か月後に十日とする。", "ja", id="30 letters"),
        pytest.param("Fee: M8 | Bolt 20 | Clip | Elmdale | Foxbury | Hartwell", "", id="names"),
        pytest.param("仓库规定：进入", "", id="7 letters"),
        pytest.param(
            "Ｄｅｒ Ｐｒüｆｅｒ ｋｏｍｍｔ ｊｅｄｅｎ Ｍｏｎｔａｇ ｍｉｔ ｄｅｍ Ｗａｇｅｎ.",
            "de",
            id="full width",
        ),
    ],
)
def test_language_of_a_short_text(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_what_is_likely_another_language_is_not_where_it_is_the_default_one() -> None:
    text = "Preisliste Klebstoffe | Gebinde | Preis | Verarbeitung, Lagerung: Araldit Rapid"
    assert detect_language(text) == "de"
    assert detect_language(text, default="lb") == ""
