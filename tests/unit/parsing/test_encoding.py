"""Bytes of any encoding come out as the text that was meant."""

from __future__ import annotations

import random

import pytest

from ingestion.domain import Block, BlockKind
from ingestion.errors import TypeMismatch
from ingestion.files.filetypes import TEXT, sniff
from ingestion.parsing.child.child import clean_block, clean_text
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.markup import decode_html

GERMAN = "Die Größe der Waage beträgt für alle Ausführungen höchstens fünf Meter. " * 5
RUSSIAN = "Безмен взвешивает груз, передвигая гирю по рычагу до равновесия. " * 5
JAPANESE = "棹秤は、錘を動かして重さを量る道具です。古くから市場で使われました。" * 5


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "utf-8"), (GERMAN, "utf-8-sig"), (GERMAN, "utf-16"), (GERMAN, "utf-32"),
        (GERMAN, "utf-16-le"), (GERMAN, "utf-16-be"), (GERMAN, "cp1252"), (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"), (JAPANESE, "cp932"), (JAPANESE, "euc-jp"), (JAPANESE, "iso-2022-jp"),
        ("ASCII alone. " * 30_000 + GERMAN, "cp1252"),
    ],
)  # fmt: skip
def test_encoding_of_a_text_is_detected(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (text, encoding)
        for text in (
            RUSSIAN, JAPANESE + "\n", "שלום עולם 2024\n", "Καλημέρα κόσμε\n", "हिन्दी में लेख\n",
        )
        for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
    ],
)  # fmt: skip
def test_unicode_without_a_byte_order_mark_is_detected(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert decode(data) == text
    assert sniff(data, "a.txt") is TEXT


@pytest.mark.parametrize(
    "data",
    [
        b"plain \x00text with\x00 a NUL here and\x00 there",
        b"ab\x00cd\x00ef\x00gh\x00",
        "Größe \x00 und Maß".encode(),
    ],
)
def test_text_with_nuls_is_no_utf16(data: bytes) -> None:
    assert decode(data) == data.decode()


@pytest.mark.parametrize("seed", range(4))
def test_binary_data_is_no_utf16(seed: int) -> None:
    data = random.Random(seed).randbytes(1_024)
    with pytest.raises(TypeMismatch):
        sniff(data, "a.txt")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("# Größe\n\nÜber „Maß“ 5 €\n", "cp1252"),
        ("Größenübersicht: Äpfel, Öfen und Übermaß kosten 5 €.\nDie Straße ist naß.\n", "cp1252"),
        ("It’s 20 °C in the café", "cp1252"),
        ("Die Größe der Übersicht: Äpfel, Öfen und Übermaß, Straße naß.", "cp850"),
        ("Zażółć gęślą jaźń", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250"),
        ("שלום עולם", "cp1255"),
        ("Word и Excel: таблица 1", "cp1251"),
        ("모든 인간은 Excel을 쓴다", "cp949"),
        ("การวัดเกิดขึ้นในฤดูใบไม้ผลิ", "cp874"),
        ("§ 5 Abs. 2", "cp1252"),
        ("Café à côté", "cp1252"),
    ],
)
def test_encoding_that_gives_words_is_preferred(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_text_with_few_broken_bytes_stays_utf8() -> None:
    assert decode(b"caf\xc3\xa9, na\xc3\xafve, \xff broken") == "café, naïve, \ufffd broken"


def test_line_ends_become_newlines() -> None:
    assert decode(b"a\r\nb\rc\n") == "a\nb\nc\n"


@pytest.mark.parametrize("encoding", ["shift_jis", "windows-1251", "iso-8859-1"])
def test_html_declares_its_encoding(encoding: str) -> None:
    word = {"shift_jis": "錘", "windows-1251": "гиря", "iso-8859-1": "“Größe”"}[encoding]
    # Browsers read iso-8859-1 as its superset: curly quotes come out.
    data = f'<meta charset="{encoding}"><p>{word}'.encode(
        {"iso-8859-1": "cp1252"}.get(encoding, encoding)
    )
    assert word in decode_html(data)


@pytest.mark.parametrize("declared", ["zlib_codec", "no-such-encoding", "rot13", "utf-16", ""])
def test_useless_encoding_declarations_are_ignored(declared: str) -> None:
    assert "Größe" in decode(GERMAN.encode("cp1252"), declared)


def test_characters_that_postgres_refuses_are_removed() -> None:
    text = clean_text("a\x00b\x07c\ud800d\ufeff\te\nf")
    assert text == "abc\ufffdd\te\nf"
    text.encode("utf-8")


def test_terminal_colours_are_removed() -> None:
    log = "\x1b[1;31mERROR\x1b[0m disk \x1b]8;;http://a\x07full\x1b]8;;\x1b\\\x1b(B [3]"
    assert clean_text(log) == "ERROR disk full [3]"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Block(BlockKind.HEADING, " Two\n lines ", level=1), "Two lines"),
        (Block(BlockKind.CODE, "\n\n    indented\n  less  \n\n"), "    indented\n  less"),
        (Block(BlockKind.PARAGRAPH, "\x00 \n"), None),
        (Block(BlockKind.PARAGRAPH, " \u200b\u3000\u2060\ufeff"), None),
        (Block.table([["", " "], ["\x00", ""]], has_header=False), None),
        (Block.table([["a\x00", ""]], has_header=False), "a | "),
    ],
)
def test_blocks_are_trimmed(block: Block, text: str | None) -> None:
    cleaned = clean_block(block)
    assert (cleaned.text if cleaned else None) == text
