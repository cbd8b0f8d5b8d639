"""The reading of runs of letters without spaces, in Python, and their marks in a text."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingestion.lexical.bigrams import characters, spaced
from ingestion.lexical.normal_form import normal_form, places
from search.presentation.snippets import MARK_END, MARK_START, mark_runs, restored

# Letters of every script that is read so, with marks, and what may stand around them.
MIXED = st.text(alphabet="北京大学水の語カガがｶﾞﾃﾞーประเที่한국ກြမကxyzé 12.,。、「」－“”—\n")

# And whatever has another normal form.
ANY = MIXED | st.text(
    st.characters(codec="utf-8", exclude_characters="\ue010\ue011\ue012\ue013")
    | st.sampled_from("em\u0301a\u0308\xad\u200c\u200bﬁ²³¹₂½℃㎡ａำ")
)


def words(text: str) -> list[str]:
    return spaced(text).split()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param("北京大学", "北 北京 京 京大 大 大学 学", id="Chinese"),
        pytest.param("水", "水", id="a letter alone"),
        pytest.param("カメラ", "カメ メラ", id="kana are no words by themselves"),
        pytest.param("の", "の", id="but stand for themselves alone"),
        pytest.param("東京タワー", "東 東京 京 京タ タワ ワー", id="Japanese"),
        pytest.param("책을", "책 책을 을", id="Korean"),
        pytest.param("ที่นี่", "ที่นี่", id="Thai marks stay with their letter"),
        pytest.param("กรุงเทพ", "กรุ รุง งเ เท ทพ", id="Thai"),
        pytest.param("မြန်မာ", "မြန် န်မာ", id="Burmese"),
        pytest.param("使用Python3编程", "使 使用 用 Python3 编 编程 程", id="Latin inside"),
        pytest.param("ｶﾞｲﾄﾞ", "ガイ イド", id="half width"),
        pytest.param("天気。晴れ、雨", "天 天気 気 晴 晴れ 雨", id="punctuation ends a run"),
        pytest.param("don’t co‐operate", "don't co-operate", id="apostrophe and hyphen"),
        pytest.param("ما هي العاصمة؟ باريس، فرنسا", "ما هي العاصمة باريس فرنسا", id="Arabic"),
        pytest.param("בית־ספר צה״ל׃ כן", "בית-ספר צה״ל כן", id="Hebrew"),
        pytest.param("§75.1725 und ¶3", "75.1725 und 3", id="section signs"),
        pytest.param("50€ 30°C Loctite® X™", "50 EUR 30 C Loctite X", id="signs of trades"),
        pytest.param("pump→tank ►Flares", "pump tank Flares", id="arrows"),
        pytest.param("CO₂ N₂O", "CO2 N2O", id="inferior digits"),
        pytest.param(
            "blade¹ reached¹²,¹³ 10⁶", "blade 1 reached 12 , 13 10 6", id="superior digits"
        ),
        pytest.param("40 m² km³ Rotor² s²³", "40 m 2 m2 km 3 km3 Rotor 2 s 23", id="units"),
        pytest.param("20℃ 40㎡ №5 2½ ①Step", "20 C 40 m2 No 5 2 1/2 1 Step", id="signs of words"),
        pytest.param("ﬁre o\ufb03ce Ⅳ ＡＢ１ 𝐱", "fire office IV AB1 x", id="ligatures, widths"),
        pytest.param("cafe\u0301 caf\u00e9", "café café", id="combining marks"),
        pytest.param("ra\xadtio می\u200cخواهم ❤\ufe0f", "ratio می-خواهم", id="no width"),
        pytest.param("\ufe8d\ufedfﺴﻼﻡ كـتاب", "السلام كتاب", id="Arabic forms and tatweel"),
        pytest.param("word´s a¨b", "word s a b", id="accents by themselves"),
        pytest.param("£5 18€ \u221220", "GBP 5 18 EUR -20", id="currencies and minus"),
    ],
)
def test_texts_without_word_breaks_are_split_into_bigrams(text: str, read: str) -> None:
    assert words(unicodedata.normalize("NFC", text)) == read.split()


@given(st.text(st.characters(max_codepoint=0x9F)))
def test_ascii_text_is_left_as_it_is_but_for_tags(text: str) -> None:
    assert spaced(text) == text.replace("</", "  ").replace("<", " ")


@pytest.mark.parametrize("category", ["P", "Z"])
def test_all_of_unicodes_punctuation_separates_words(category: str) -> None:
    """But for the marks that stand inside words, and those that are read as their ASCII form."""
    signs = [chr(code) for code in range(0x80, sys.maxunicode + 1)
             if unicodedata.category(chr(code))[0] == category]  # fmt: skip
    glued = "".join(sign for sign in signs if words(f"a{sign}b") != ["a", "b"])
    assert glued == ("֊־׳״‐‑’“”„＃＆－．／" if category == "P" else "")


def test_all_symbols_separate_words() -> None:
    """Of those that stand for letters, the letters are left; ＋ and minus are read as in ASCII."""
    for code in range(0x80, sys.maxunicode + 1):
        if unicodedata.category(sign := chr(code))[0] == "S" and sign not in "＋\u2212":
            first, *_, last = words(f"a{sign}b")
            assert (first, last) == ("a", "b"), hex(code)


@example("kan ŉ boek, 25㎍ 🄪 µŉ")
@given(ANY)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normal_form(text)
    assert normal_form(once) == once


@example("5 µA B²")
@given(ANY)
def test_each_character_has_its_place(text: str) -> None:
    """In the order of the text; each place alone reads as what stands there, or is a part of it."""
    form, at = normal_form(text), [*zip(*places(text), strict=True)]
    assert len(at) == len(form)
    assert at == sorted(at)
    for char, (start, end) in zip(form, at, strict=True):
        # Beside its neighbours a sign may be a unit's: µA is uA, and m² also m2.
        beside = text[max(start - 3, 0) : end + 1]
        assert char in normal_form(text[start:end]) + normal_form(beside) + " "


WORD = st.text(st.characters(categories=("Lu", "Ll"), max_codepoint=0x17F), min_size=2)
# But for those of Hebrew that are parts of words, and those that are read as their ASCII form.
SIGN = st.characters(
    categories=("Sm", "Sc", "Sk", "So", "Po", "Ps", "Pe"),
    min_codepoint=0xA1,
    exclude_characters="׳״„\u2212＃＆＋．／",
)


@given(WORD, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), SIGN, SIGN)
def test_a_word_is_read_in_any_form_beside_any_sign(
    word: str, form: str, before: str, after: str
) -> None:
    read = words(before + unicodedata.normalize(form, word) + after)
    assert set(words(unicodedata.normalize("NFKC", word))) <= set(read)


@given(MIXED, st.data())
def test_part_of_a_text_is_split_like_the_whole(text: str, data: st.DataObject) -> None:
    """What makes a phrase a phrase: the words of a part follow one another in the whole's."""
    whole = [unit for *_, unit in characters(spaced_run(text))]
    if len(whole) < 2:
        return
    start = data.draw(st.integers(0, len(whole) - 2))
    end = data.draw(st.integers(start + 2, len(whole)))
    part, read = words("".join(whole[start:end])), words("".join(whole))
    assert any(read[i : i + len(part)] == part for i in range(len(read)))


def spaced_run(text: str) -> str:
    """The letters of the text's runs as one run."""
    return "".join(text[start:end] for start, end, _ in characters(text))


@given(MIXED)
def test_reading_loses_no_letter(text: str) -> None:
    read = set("".join(words(text)))
    assert {letter for *_, unit in characters(text) for letter in unit} <= read


def shown(text: str, query: str) -> str:
    return mark_runs(text, query).replace(MARK_START, "[").replace(MARK_END, "]")


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        pytest.param(
            "我在北京大学读书", "北京大学", "我在[北京大学]读书", id="a word in a sentence"
        ),
        pytest.param("学校很大", "北京大学", "学校很大", id="not its letters alone"),
        pytest.param("小猫和猫", "猫", "小[猫]和[猫]", id="a letter that was asked for"),
        pytest.param("ｶﾞｲﾄﾞを読む", "ガイド", "[ｶﾞｲﾄﾞ]を読む", id="half width found"),
        pytest.param("ไปเที่ยวกรุงเทพ", "เที่ยว", "ไป[เที่ยว]กรุงเทพ", id="Thai with its marks"),
        pytest.param("北京 京大", "'北' | '北京' | '京'", "[北京] 京大", id="a tsquery"),
        pytest.param("plain words", "plain", "plain words", id="words are Postgres' to mark"),
    ],
)
def test_words_without_breaks_are_marked(text: str, query: str, expected: str) -> None:
    assert shown(text, query) == expected


def test_marked_text_is_not_marked_again() -> None:
    marked = f"{MARK_START}北京{MARK_END} 在北京"
    assert shown(marked, "北京") == "[北京] 在[北京]"


@given(MIXED, MIXED)
def test_marks_change_nothing_else_and_never_nest(text: str, query: str) -> None:
    marked = mark_runs(text, query)
    assert marked.replace(MARK_START, "").replace(MARK_END, "") == text
    marks = "".join(one for one in marked if one in (MARK_START, MARK_END))
    assert marks == (MARK_START + MARK_END) * (len(marks) // 2)


def test_marks_are_mapped_back_to_the_original_text() -> None:
    marked = f" {MARK_START}word{MARK_END}  other"
    assert restored(marked, "“word”—other") == f"“{MARK_START}word{MARK_END}”—other"
