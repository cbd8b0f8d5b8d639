"""The reading of runs of letters without spaces, in Python, and their marks in a text."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.lexical.bigrams import characters, spaced
from search.presentation.snippets import MARK_END, MARK_START, mark_runs, restored

# Letters of every script that is read so, with marks, and what may stand around them.
MIXED = st.text(alphabet="北京大学水の語カガがｶﾞﾃﾞーประเที่한국ກြမကxyzé 12.,。、「」－“”—\n")


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
    ],
)
def test_texts_without_word_breaks_are_split_into_bigrams(text: str, read: str) -> None:
    assert words(unicodedata.normalize("NFC", text)) == read.split()


@given(st.text(st.characters(max_codepoint=0x9F)))
def test_ascii_text_is_left_as_it_is(text: str) -> None:
    assert spaced(text) == text


@pytest.mark.parametrize("category", ["P", "Z"])
def test_all_of_unicodes_punctuation_separates_words(category: str) -> None:
    """But for the marks that stand inside words."""
    signs = [chr(code) for code in range(0x80, sys.maxunicode + 1)
             if unicodedata.category(chr(code))[0] == category]  # fmt: skip
    glued = "".join(sign for sign in signs if words(f"a{sign}b") != ["a", "b"])
    assert glued == ("֊־׳״‐‑’" if category == "P" else "")


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
