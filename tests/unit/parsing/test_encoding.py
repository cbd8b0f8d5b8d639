"""Bytes of any encoding come out as the text that was meant."""

from __future__ import annotations

import pytest

from ingestion.domain import Block, BlockKind
from ingestion.parsing.cleaning import clean_block, clean_text
from ingestion.parsing.encoding import decode
from ingestion.parsing.html import decode_html

GERMAN = "Die Größe der Waage beträgt für alle Ausführungen höchstens fünf Meter. " * 5
RUSSIAN = "Безмен взвешивает груз, передвигая гирю по рычагу до равновесия. " * 5
JAPANESE = "棹秤は、錘を動かして重さを量る道具です。古くから市場で使われました。" * 5


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "utf-8"),
        (GERMAN, "utf-8-sig"),
        (GERMAN, "utf-16"),
        (GERMAN, "utf-32"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "utf-16-be"),
        (GERMAN, "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso-2022-jp"),
        ("ASCII alone. " * 30_000 + GERMAN, "cp1252"),
    ],
)
def test_detected(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_few_broken_bytes_leave_utf8_alone() -> None:
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
def test_useless_declarations_are_passed_over(declared: str) -> None:
    assert "Größe" in decode(GERMAN.encode("cp1252"), declared)


def test_what_postgres_and_utf8_refuse_is_gone() -> None:
    text = clean_text("a\x00b\x07c\ud800d\ufeff\te\nf")
    assert text == "abc\ufffdd\te\nf"
    text.encode("utf-8")


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Block(BlockKind.HEADING, " Two\n lines ", level=1), "Two lines"),
        (Block(BlockKind.CODE, "\n\n    indented\n  less  \n\n"), "    indented\n  less"),
        (Block(BlockKind.PARAGRAPH, "\x00 \n"), None),
        (Block.table([["", " "], ["\x00", ""]], has_header=False), None),
        (Block.table([["a\x00", ""]], has_header=False), "a | "),
    ],
)
def test_blocks_are_trimmed(block: Block, text: str | None) -> None:
    cleaned = clean_block(block)
    assert (cleaned.text if cleaned else None) == text
