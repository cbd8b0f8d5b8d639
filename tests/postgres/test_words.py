"""A word of a text is found when it is typed plainly, however it is written (ADR 124)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import unescape
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection, connect
from pytest import approx

from ingestion.lexical import bm25_weights
from ingestion.lexical.bigrams import spaced, spaced_sql
from ingestion.models import Chunk, Document, TermFrequency
from search.domain import Signal, Weights
from search.pipeline import Choices, search
from search.presentation.document_text import passages_of
from tests.support.factories import make_collection, make_document
from tests.support.laws import examples
from tests.support.written_chunks import lexemes_of, scores, shelve

pytestmark = pytest.mark.django_db

OTHERS = ["a pump", "a valve", "the oil", "grease", "bearings", "a river"]
# What a person types, and the texts in which they must find it.
WRITTEN = [
    ("50", "It costs 50€ a day"),
    ("EUR 50", "It costs 50€ a day"),
    ("-20", "At \u221220 °C it stops"),
    ("30", "Warm to 30°C first"),
    ("loctite", "Apply Loctite® now"),
    ("pump", "pump→tank"),
    ("flares", "►Flares"),
    ("CO2", "It emits CO₂ there"),
    ("N2O", "It emits N₂O there"),
    ("m2", "a roof of 40 m² there"),
    ("km3", "a lake of 4 km³ there"),
    ("blade", "The blade¹ is coated"),
    ("reached", "Limit reached¹², then"),
    ("office", "the o\ufb03ce is open"),
    ("ratio", "the ra\xadtio of both"),
    ("café", unicodedata.normalize("NFD", "the café there")),
    ("Schläuche", unicodedata.normalize("NFD", "Schläuche prüfen")),
    ("ABC", "ＡＢＣ alone"),
    ("String", "A List<String> of names"),
    ("stdio.h", "#include <stdio.h> first"),
    ("artifactId", "Set `<artifactId>junit</artifactId>` there"),
    ("<artifactId>", "Set `<artifactId>junit</artifactId>` there"),
    ("junit", "Set `<artifactId>junit</artifactId>` there"),
    ("mylink", 'so `<a href="mylink/" class="historylink">Past</a>` leads there'),
]

# What a person types, and the text that comes first, with its marks.
RETYPED = [
    ("HL 200", "The [HL-200] pump"),
    ("historylink", "&lt;p class=[historylink]&gt;Past&lt;/p&gt;"),
    ("Bjørnson", "said &lt;User: [Bjørnson]&gt;, or nobody"),
    ("loginpage", "login_url=[/loginpage]/ there"),
    ("phpmyadmin", "no address with [/phpmyadmin] here"),
    ("AB12 CD34", "Badge [AB12-CD34] opens"),
    ("MFX 500", "Filter [MFX500] is washed"),
    ("H264", "Coded in [H.264] there"),
    ("ATT", "A bill of [AT&amp;T] came"),
    ("ODowd", "Mr. [O’Dowd] repairs it"),
    ("XY700", "型番[ＸＹ－７００]を確認"),
    ('צה"ל', "אנשי [צה״ל] באו"),
    ("Núñez", "Mr. [Nunez] came"),
    ("LX19OPB", "The plate [LX19] [OPB] is"),
    ("कलम", "यह [क़लम] है"),
    ("R1/2", "Threads R[½] there"),
    ("L121-3", "Voir [L. 121-3] ici"),
]


@pytest.fixture(scope="module", params=["builtin", "libc"])
def located(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: object
) -> Iterator[Connection]:
    """A connection to a database of each kind of locale that the embedded server has.

    Postgres' parser asks the C library what a letter is: under `C.utf8` that knows Unicode, under
    the builtin provider's C every character outside ASCII is one. A database of an ICU locale goes
    by its `LC_CTYPE`, like one of these (ADR 124); the embedded server has none.
    """
    where = connection.settings_dict
    server = {"host": where["HOST"], "port": where["PORT"], "user": where["USER"]}
    name = f"words_{request.param}"
    locale = {
        "builtin": "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'",
        "libc": "LOCALE_PROVIDER libc LOCALE 'C.utf8'",
    }
    with connect(dbname="postgres", autocommit=True, **server) as control:
        control.execute(f"CREATE DATABASE {name} TEMPLATE template0 {locale[request.param]}")
        try:
            with connect(dbname=name, autocommit=True, **server) as own:
                yield own
        finally:
            control.execute(f"DROP DATABASE {name}")


@pytest.mark.parametrize(("typed", "text"), WRITTEN, ids=[typed for typed, _ in WRITTEN])
@pytest.mark.parametrize("config", ["english", "german", "simple"])
def test_under_every_locale(located: Connection, config: str, typed: str, text: str) -> None:
    matches = f"SELECT to_tsvector(%s, {spaced_sql('%s')}) @@ plainto_tsquery(%s, %s)"
    row = located.execute(matches, [config, text, config, spaced(typed)]).fetchone()
    assert row == (True,)


@pytest.mark.parametrize(("typed", "text"), WRITTEN, ids=[typed for typed, _ in WRITTEN])
def test_is_found_and_marked(typed: str, text: str) -> None:
    collection = make_collection(language="en")
    document = make_document(collection, f"# T\n\n{text}.", file_name="a.md")
    make_document(collection, "Nothing of it.", file_name="b.md")
    answer = search(typed, viewer=None, choices=Choices(exact=True))
    assert answer.unknown == ()
    first = answer.results[0]
    assert first.file_name == "a.md"
    assert max(scores(typed, Signal.KEYWORD).values()) > 0
    assert "<mark>" in first.snippet
    [shown] = passages_of(document, viewer=None, requested=None, words=typed).passages
    assert "<mark>" in "".join(str(part.html) for part in shown.parts)


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("blade", "The blade¹ turns", "The [blade]¹ turns"),
        ("CO2", "emits CO₂ and", "emits [CO₂] and"),
        ("office", "the o\ufb03ce.", "the [o\ufb03ce]."),
        ("loctite", "“Loctite®” here", "“[Loctite]®” here"),
        ("m2", "up to 40 m² or 3 s²", "up to 40 m[²] or 3 s²"),
        ("30", "up to 30℃ or 40㎡", "up to [30]℃ or 40㎡"),
    ],
)
def test_marks_stand_in_the_text_as_it_is(query: str, text: str, marked: str) -> None:
    shelve(make_collection(), "english", [text, *OTHERS])
    snippet = str(search(query, viewer=None).results[0].snippet)
    assert snippet == marked.replace("[", "<mark>").replace("]", "</mark>")


def test_texts_of_earlier_releases_are_marked_in_their_own_form() -> None:
    text = unicodedata.normalize("NFD", "der ra\xadsche Prüfer kam")
    shelve(make_collection(), "german", [text, *OTHERS])
    snippet = str(search("rasche Prüfer", viewer=None).results[0].snippet)
    assert snippet.replace("<mark>", "").replace("</mark>", "") == text
    assert snippet.count("<mark>") == 2


LATIN = st.text(
    st.characters(categories=("Lu", "Ll"), max_codepoint=0x17F).filter(
        lambda letter: len(unicodedata.normalize("NFKD", letter)) <= 2 and letter not in "ªºŉſ"
    ),
    min_size=2,
    max_size=12,
)
# But for those of Hebrew that are parts of words, and the minus of numbers.
SIGN = st.characters(
    categories=("Sm", "Sc", "So", "Po", "Ps", "Pe", "Zs"),
    min_codepoint=0xA1,
    exclude_characters="׳״\u2212",
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(
    word=LATIN,
    form=st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
    before=SIGN,
    after=SIGN,
    config=st.sampled_from(["english", "german", "french", "simple"]),
)
def test_a_word_is_found_as_it_is_and_when_typed_plainly(
    word: str, form: str, before: str, after: str, config: str, db: None
) -> None:
    """In any form of Unicode, beside any sign: folding hides no exact match."""
    plain = unicodedata.normalize("NFD", word.casefold())
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    plain = plain.translate(dict(zip(map(ord, "øđðłıħŧ"), "oddliht", strict=True)))
    for letter, two in {"æ": "ae", "œ": "oe", "þ": "th"}.items():
        plain = plain.replace(letter, two)
    held = lexemes_of(before + unicodedata.normalize(form, word) + after, config)
    assert set(plain_lexemes(word, config)) | set(plain_lexemes(plain, config)) <= set(held)


def plain_lexemes(word: str, config: str) -> list[str]:
    """The lexemes of a word as typed in a question."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tsvector_to_array(to_tsvector(%s, %s))", [config, spaced(word)])
        [lexemes] = cursor.fetchone()
        return list(lexemes)


class TestEarlierReleases:
    TEXT = "Loctite® by Müller, 1,250,000 of HL-200, asked by IT at ops@harbour.example."

    @pytest.fixture
    def old(self) -> Document:
        """A document whose lexemes an earlier release read: none of today's forms."""
        document = make_document(make_collection(language="en"), self.TEXT, file_name="Prüf.txt")
        bm25_weights.fold()
        self.frequencies = dict(TermFrequency.objects.values_list("lexeme", "chunks"))
        bm25_weights.count_out(document.current_id)
        Chunk.objects.update(
            lexemes="'loctite®':1 'müller':3 '1':4 '250':5 '000':6 'hl':8 '-200':9 'ask':10"
            " 'ops@harbour.example':14"
        )
        bm25_weights.count_in(document.current_id)
        bm25_weights.fold()
        Document.objects.update(title_terms="'prüf':1")
        return document

    def test_stay_searchable(self, old: Document) -> None:
        for query in ("Müller", "1,250,000", "HL-200", "ops@harbour.example", "who asked IT"):
            assert [each.file_name for each in search(query, viewer=None).results] == ["Prüf.txt"]

    def test_their_words_are_read_anew_without_the_file(self, old: Document) -> None:
        [passage] = Chunk.objects.values("pk", "text")
        out = StringIO()
        call_command("reprocess", "--words", stdout=out)
        assert out.getvalue() == "Read the words of 1 document.\n"
        assert [passage] == list(Chunk.objects.values("pk", "text"))
        assert old.versions.count() == 1
        for query in ("loctite", "Mueller", "1250000", "200", "IT", "harbour", "Pruef"):
            assert scores(query), query
        assert self.frequencies == dict(TermFrequency.objects.values_list("lexeme", "chunks"))
        assert search("Pruef", viewer=None, choices=Choices(weights=Weights(0, 0, 1))).results


class TestSecondForms:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Müller", {"müller", "muller", "mueller"}),
            ("François Peña", {"françoi", "francoi", "peña", "pena"}),
            ("Łukasz Żółć Søren Århus", {
                "łukasz", "lukasz", "żółć", "zolc", "søren", "soren", "soeren",
                "århus", "arhus", "aarhus",
            }),
            ("ёлка чай", {"ёлка", "елка", "чай"}),
            pytest.param("कि हिंदी", {"कि", "हिंदी"}, id="marks that are vowels"),
            ("1,250,000", {"1", "250", "000", "1250000"}),
            ("12.500,00", {"12.500", "00", "12500"}),
            ("3 400 000", {"3", "400", "000", "3400000"}),
            ("1,299.50", {"1", "299.50", "1299.5"}),
            ("12.500", {"12.500", "12500"}),
            pytest.param("2024-05-01", {"2024", "-05", "-01", "05", "01", "20240501"}, id="a date"),
            ("978-3-16-148410-0", {
                "978", "-3", "-16", "-148410", "-0", "16", "148410", "9783161484100"}),
            ("DE89 3704 0044", {"de89", "3704", "0044", "de8937040044"}),
            ("192.168.10.254", {"192.168.10.254", "192.168.10"}),
            ("HL-200", {"hl", "-200", "200", "hl200"}),
            ("\u221220 °C", {"-20", "20", "c"}),
            ("Windows11 Python3 ROS2", {
                "windows11", "window", "11", "python3", "python", "3", "ros2"}),
            ("2.50 0.0825 007731", {"2.50", "2.5", "0.0825", "007731", "7731"}),
            ("14:35 at 2 p.m.", {"14", "35", "14h35", "2", "p.m", "14h00"}),
            ("12:30 am, 9.05 Uhr", {"12", "30", "00h30", "9.05", "uhr", "09h05"}),
            pytest.param(
                "16:9 12:75", {"16", "9", "16to9", "12", "75", "12to75"}, id="no times of day"),
            ("ATU 6628 1234", {"atu", "6628", "1234", "atu66281234"}),
            ("المكتبة", {"المكتبة", "المكتبه"}),
            ("बन्द पम्प", {"बन्द", "बंद", "पम्प", "पंप"}),
            ("בירושלים", {"בירושלים", "ירושלים"}),
            ("SHA-256 utf-8", {"sha", "-256", "256", "sha256", "utf", "-8", "utf8"}),
            ("v2.10.3-rc1", {"v2.10.3-rc1", "v2", "10", "rc1", "2.10.3"}),
            ("No.8", {"no.8", "8", "no8"}),
            ("AB12-CD34", {"ab12-cd34", "ab12", "cd34", "ab12cd34"}),
            ("H.264 2.5kg 1/2in", {"h.264", "h264", "2.5", "kg", "1/2in", "2in"}),
            ("R&D, S/4HANA", {"r", "d", "rd", "s/4hana", "s4hana", "hana", "4"}),
            ("Ph.D. and/or it's Friday-Monday", {
                "ph.d", "ph", "phd", "and/or", "friday-monday", "friday", "monday",
                "fridaymonday"}),
            ("צה״ל צה\"ל", {"צה״ל", "צה", "ל", "צהל"}),
            ("подвір’я", {"подвір", "я", "подвіря"}),
            pytest.param(
                "می‌خواهم", {"می-خواهم", "می", "مي", "خواهم", "میخواهم"}, id="Persian's joint"),
            ("C++20, F# or F", {"c", "+20", "C++", "f", "F#"}),
            ("(212) 555-0188", {"212", "555", "-0188", "0188", "2125550188"}),
            ("L’Oréal it's", {"l", "oréal", "oreal", "loreal"}),
            ("call 089-1234567", {"call", "089", "-1234567", "1234567", "0891234567"}),
            ("+49 89 1234567", {"+49", "89", "1234567", "49891234567"}),
            ("99,95 12500.00", {"99", "95", "99.95", "12500.00", "12500"}),
            ("ask IT or it", {"ask", "IT"}),
            pytest.param("HOW TO DO IT", set(), id="a heading in capitals"),
            ("ada.lund@contoso.example", {
                "ada.lund@contoso.example", "ada", "lund", "contoso", "exampl"}),
            ("https://pump.example/manual/valve.html", {
                "pump.example/manual/valve.html", "pump.example", "/manual/valve.html",
                "pump", "exampl", "manual", "valv", "html"}),
        ],
    )  # fmt: skip
    def test_of_words(self, text: str, expected: set[str]) -> None:
        assert set(lexemes_of(text)) == expected

    @pytest.mark.parametrize(
        ("query", "text", "marked"),
        [
            ("Francois Muller", "François Müller audits", "[François] [Müller] audits"),
            ("Mueller", "Dr. Müller.", "Dr. [Müller]."),
            ("Jose Pena", "José Peña (north)", "[José] [Peña] (north)"),
            ("1250000", "cost 1,250,000 euro", "cost [1,250,000] euro"),
            ("12500", "cost 12.500,00 euro", "cost [12.500,00] euro"),
            ("3400000", "cost 3\xa0400\xa0000 euro", "cost [3 400 000] euro"),
            ("DE89370400440532013000", "IBAN DE89 3704 0044 0532 0130 00.",
             "IBAN [DE89 3704 0044 0532 0130 00]."),
            ("9783161484100", "ISBN 978-3-16-148410-0", "ISBN [978-3-16-148410-0]"),
            ("SHA256", "The SHA-256 of a file", "The [SHA-256] of a file"),
            ("2.10.3", "Since v2.10.3-rc1 it stops", "Since [v2.10.3]-rc1 it stops"),
            ("99.95", "It is €99,95 a piece", "It is €[99,95] a piece"),
            ("0891234567", "Call 089/1234-567 at night", "Call [089/1234-567] at night"),
            ("Muller", "Frau Müller-Lüdenscheidt", "Frau [Müller]-Lüdenscheidt"),
            ("IT", "Ask the IT department: it helps.", "Ask the [IT] department: it helps."),
            ("192.168.10", "Host 192.168.10.254 is down", "Host [192.168.10.254] is down"),
            ("12 mm", "A pipe of 12mm length", "A pipe of [12mm] length"),
            ("500µS", "under 500 µS a day", "under [500] [µS] a day"),
            ("25 ug", "of 25 µg dust", "of [25] [µg] dust"),
            ("M8x40", "Screw M8×40 in", "Screw [M8×40] in"),
            ("M8", "Screw M8x40 in", "Screw [M8x40] in"),
            ("150000", "cost 1,50,000 rupees", "cost [1,50,000] rupees"),
            ("1 March 2026", "Until 01.03.2026, noon", "Until [01.03.2026], noon"),
            ("2026-03-01", "Am 1. März 2026 um", "Am [1. März 2026] um"),
            ("2569", "until ๒๕๖๙ then", "until [๒๕๖๙] then"),
            ("6789", "since ۶۷۸۹ or so", "since [۶۷۸۹] or so"),
            ("كارخانه", "the کارخانه there", "the [کارخانه] there"),
            ("ΠΑΠΑΔΟΠΟΥΛΟΣ", "ask Παπαδόπουλος now", "ask [Παπαδόπουλος] now"),
            ("djokovic", "ask Đoković now", "ask [Đoković] now"),
            ("المكتبه", "see المكتبة there", "see [المكتبة] there"),
            ("בית", "see ובבית there", "see [ובבית] there"),
            ("2:35 pm", "closed at 14h35 daily", "closed at [14h35] daily"),
            ("14:00", "closed at 2 p.m. daily", "closed at [2 p.m]. daily"),
            ("14.35 Uhr", "closed at 14:35:20", "closed at [14:35:20]"),
            ("48m2", "A room of 48m² there", "A room of [48m²] there"),
            ("5600 kr", "It costs 5600kr there", "It costs [5600kr] there"),
            ("18 EUR", "It costs 18€ there", "It costs [18€] there"),
            ("6,02214", "factor 6.02214 there", "factor [6.02214] there"),
            ("2.5", "factor 2,50 there", "factor [2,50] there"),
            ("1299,50", "cost 1,299.50 there", "cost [1,299.50] there"),
            ("7731", "code 007731 there", "code [007731] there"),
            ("5 June 2034", "Due 05.06.34 there", "Due [05.06.34] there"),
            ("ATU66281234", "tax ATU 6628 1234 there", "tax [ATU 6628 1234] there"),
            ("sw1a2aa", "in SW1A 2AA there", "in [SW1A 2AA] there"),
            ("442079460958", "call +442079460958 there", "call +[442079460958] there"),
            ("001b44113ab7", "card 00:1B:44:11:3A:B7", "card [00:1B:44:11:3A:B7]"),
            ("windows 11", "since Windows11 there", "since [Windows11] there"),
            ("turnip", "in A/turnip-list.final there", "in A/[turnip]-list.final there"),
            ("1000003", "MAX = 1_000_003", "MAX = [1_000_003]"),
            ("2034-03-08", "Sealed 2034/03/08, noon", "Sealed [2034/03/08], noon"),
            ("8. März 2034", "Sealed 2034.03.08, noon", "Sealed [2034.03.08], noon"),
            ("02079460958", "call +44 (0)20 7946 0958 there", "call [+44 (0)20 7946 0958] there"),
            ("+442079460958", "call +44 (0)20 7946 0958 there", "call [+44 (0)20 7946 0958] there"),
            ("0800 5551234", "call 0800/555 12 34 there", "call [0800/555 12 34] there"),
            ("A+", "graded A+ there", "graded [A+] there"),
            ("1.5 hours", "after 1½ hours there", "after [1½] [hours] there"),
            ("1½", "after 1 1/2 hours there", "after [1 1/2] hours there"),
            ("¾", "a 3/4 inch nut", "a [3/4] inch nut"),
            ("0.75", "a ¾ inch nut", "a [¾] inch nut"),
            ("1:4", "mixed 1:4 there", "mixed [1:4] there"),
            ("2.5", "below \u22122.5 °C", "below \u2212[2.5] °C"),
            ("5 January 2038", "of 05-Jan-2038, noon", "of [05-Jan-2038], noon"),
            ("10 uH", "a coil of 10µH there", "a coil of [10µH] there"),
            ("555-867-5309", "call 555.867.5309 there", "call [555.867.5309] there"),
            ("TLS 1.3", "only MQTT/TLS1.3 there", "only MQTT/[TLS1.3] there"),
            ("1200 EUR", "paid EUR1200.00 there", "paid [EUR1200.00] there"),
        ],
    )  # fmt: skip
    def test_are_found_at_once_and_marked(self, query: str, text: str, marked: str) -> None:
        shelve(make_collection(), "english", [text, *OTHERS])
        answer = search(query, viewer=None)
        assert answer.unknown == ()
        assert answer.corrected_from == ""
        expected = marked.replace("[", "<mark>").replace("]", "</mark>")
        assert str(answer.results[0].snippet) == expected
        assert scores(query)

    def test_a_code_or_name_typed_otherwise_is_first_and_marked(self) -> None:
        collection = make_collection()
        make_document(collection, "HL-219, AB12, MFX5000, H.2645, LX190, AT, XY-70.", file_name="b")
        for number, (_, marked) in enumerate(RETYPED):
            text = unescape(re.sub(r"[\[\]]", "", marked))
            make_document(collection, text, file_name=f"{number}.txt")
        for query, marked in RETYPED:
            first = search(query, viewer=None, choices=Choices(exact=True)).results[0]
            assert str(first.snippet) == marked.replace("[", "<mark>").replace("]", "</mark>")

    @pytest.mark.parametrize("query", ["contoso", "lund", "harbourmaster", "manual", "200"])
    def test_parts_of_addresses_and_article_numbers(self, query: str) -> None:
        texts = [
            "ada.lund@contoso-shipyard.example, ops@harbourmaster.example",
            "see https://x.example/manual/valve.html",
            "the HL-200 pump",
        ]
        shelve(make_collection(), "english", [*texts, *OTHERS])
        assert search(query, viewer=None).unknown == ()
        assert scores(query)

    @pytest.mark.parametrize(
        ("exact", "other"),
        [("Müller", "Muller"), ("Muller", "Müller"), ("résumé", "resume"), ("resume", "résumé")],
    )
    @pytest.mark.parametrize("times", [1, 5])
    def test_an_exact_spelling_comes_first(self, exact: str, other: str, times: int) -> None:
        said, folded, *_ = shelve(
            make_collection(), "english", [f"{exact} came by", f"{other} " * times, *OTHERS]
        )
        found = scores(exact)
        assert list(found) == [said, folded]
        assert found[said] > found[folded]

    def test_a_folded_word_counts_once_and_nearly_as_much(self) -> None:
        texts = ["Muller came late", "Müller came late", "Müller met Müller", *OTHERS]
        said, folded, twice, *_ = shelve(make_collection(), "english", texts)
        found = scores("Muller")
        assert found[folded] == approx(0.8 * found[said])
        assert found[twice] == approx(found[folded])

    def test_both_sides_are_written_out(self) -> None:
        plain, written, accented, *_ = shelve(
            make_collection(), "english", ["Muller", "Mueller", "Müller", *OTHERS]
        )
        assert set(scores("Müller")) == {plain, written, accented}
        assert set(scores("Mueller")) == {written, accented}

    @pytest.mark.parametrize("typed", ["1250000", "1,250,000", "1.250.000", "1 250 000"])
    @pytest.mark.parametrize("text", ["1250000", "1,250,000", "1.250.000,00", "1 250 000"])
    def test_a_number_in_any_form(self, typed: str, text: str) -> None:
        first, *_ = shelve(make_collection(), "english", [text, "a 250 valve", *OTHERS])
        assert next(iter(scores(typed))) == first

    def test_a_day_in_any_form(self) -> None:
        days = ("2026-03-14", "14.03.2026", "14. 3. 2026", "14/03/2026", "3/14/2026")
        days += ("14 March 2026", "14. März 2026", "March 14th, 2026", "le 14 mars 2026")
        pks = shelve(make_collection(), "english", [*days, "13.3.2026", "3/4/2026", *OTHERS])
        assert set(scores("14.3.2026")) == set(pks[: len(days)])
        assert set(pks[: len(days)]) <= set(scores("Mar 14, 2026"))

    def test_a_time_of_day_in_any_form(self) -> None:
        times = ("at 14:35", "at 14h35", "2:35 pm", "2.35 P.M.", "14.35 Uhr", "14:35:10", "2:35PM")
        pks = shelve(make_collection(), "english", [*times, "2:35", "14:53", *OTHERS])
        for typed in times:
            assert set(pks[: len(times)]) <= set(scores(typed)), typed

    def test_a_day_with_two_readings_has_no_other_form(self) -> None:
        assert set(lexemes_of("03/04/2026")) == {"03/04/2026"}

    def test_a_ratio_and_a_grade_are_not_their_likes(self) -> None:
        texts = ["mix 1:4", "mix 4:1", "grade A+", "grade A-", "grade A", "an A+B or A-frame"]
        pks = shelve(make_collection(), "english", [*texts, *OTHERS])
        assert next(iter(scores("1:4"))) == pks[0]
        assert next(iter(scores("A+ grade"))) == pks[2]
        assert next(iter(scores("A- grade"))) == pks[3]

    def test_an_acronym_is_not_its_stop_word(self) -> None:
        first, *_ = shelve(
            make_collection(), "english", ["ask the IT team", "it runs", "team it", *OTHERS]
        )
        assert set(scores("IT")) == {first}
        assert next(iter(scores("IT team"))) == first
        assert set(scores("it")) == set()

    def test_an_acronym_stays_that_is_a_stop_word_of_few_texts_alone(self) -> None:
        collection = make_collection()
        shelve(collection, "english", ["Mr van der Meer", *OTHERS])
        first, _ = shelve(collection, "german", ["Leitung von DER", "der Plan"])
        assert first in scores("DER")
