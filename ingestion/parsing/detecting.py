"""Bytes in an encoding that nobody states -> its name, by chardet and by how words look."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

DETECTION_BYTES = 200_000
_CONTEXT_BYTES = 1_000
_JUDGED_CHARACTERS = 20_000
_SURE = 0.3
"""chardet's confidence from which it was right on all 114 lines tried; wrong ones had up to .18."""

_BEYOND_ASCII = re.compile(rb"[\x80-\xff\x1b]")
_MULTIBYTE = re.compile(r"[\x80-\U0010ffff]")
# Of mainframes, of single vendors, of scripts long written otherwise: a short text that chardet
# gives to one of these is another's.
_UNHEARD_OF = frozenset(
    {
        *("cp424", "cp500", "cp875", "cp1026", "cp1140", "cp273", "cp1006", "cp856", "cp864"),
        *("hp-roman8", "kz1048", "ptcp154", "koi8-t", "iso8859-3", "iso8859-10", "iso8859-14"),
    }
)
# By how often they are met on the web, with what old consoles wrote at the end.
_USUAL = ("cp1252", "cp1251", "cp1250", "cp1254", "cp1253", "cp1257", "iso8859-2", "cp850")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_ASCII_LETTER = re.compile(r"[A-Za-z]")
_RUNS = re.compile(r"\S*[^\x00-\x7f]\S*")
# Written together.
_EAST_ASIAN = frozenset(
    {"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "HALFWIDTH", "FULLWIDTH"}
)
_SPACED = frozenset({"LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "ARMENIAN", "THAI"})
_ANYWHERE = "°®©™€£"
_BEFORE_LETTERS = "¿¡"
_AFTER_LETTERS = "ªº¹²³"
_QUOTED_WITHIN = re.compile(r"[^\W\d_][«»‹›“”„‚†‡‰•][^\W\d_]")


def detected(data: bytes) -> str:
    """The name of the encoding; UTF-8 where the bytes are that with a few broken ones.

    chardet's answer, unless words look wrong under it ("Gr÷▀e", "perchй") and right under
    another: it is sure of little that is shorter than a sentence.
    """
    import chardet

    # A legacy file may begin with any amount of plain ASCII, which tells nothing.
    first = _BEYOND_ASCII.search(data)
    start = max(first.start() - _CONTEXT_BYTES, 0) if first else 0
    sample = data[start : start + DETECTION_BYTES]
    found = chardet.detect_all(sample, ignore_threshold=True, exclude_encodings=_UNHEARD_OF)
    names = [one["encoding"] for one in found if one["encoding"]]
    confidence = found[0]["confidence"] if found else 0.0
    if not names or _is_damaged_utf8(sample, certain=confidence < 0.1):
        return "utf-8"
    return names[0] if confidence > _SURE else _most_legible(sample, names)


def _most_legible(sample: bytes, names: list[str]) -> str:
    """The first of the names, or the first whose text looks less wrong than under that."""
    best, fewest = names[0], misfits(sample.decode(names[0], "replace"))
    for name in (*_USUAL, *names[1:]):
        if not fewest:
            break
        try:
            count = misfits(sample.decode(name))
        except (UnicodeDecodeError, LookupError):
            continue
        if count < fewest:
            best, fewest = name, count
    return best


def misfits(text: str) -> int:
    """How many words hold what words rarely do: two scripts, or a symbol between letters.

    A number to compare by: a Korean ending after a Latin name counts as well.
    """
    words = (run[0] for run in _RUNS.finditer(text[:_JUDGED_CHARACTERS]))
    return sum(_is_misfit(word) for word in words)


def _is_misfit(word: str) -> bool:
    kinds = [_kind(char) for char in word]
    scripts = set(kinds) - {"", "SIGN"}
    if "WRONG" in kinds or len(scripts) > 1 or _QUOTED_WITHIN.search(word):
        return True
    if any(map(_do_not_meet, pairwise(word), pairwise(kinds))):
        return True
    # All its letters are Latin, and none of them is one that English has.
    runs = (run for run in _LETTERS.finditer(word) if set(kinds[slice(*run.span())]) == {"LATIN"})
    return any(not _ASCII_LETTER.search(run[0]) for run in runs)


def _do_not_meet(pair: tuple[str, str], kinds: tuple[str, str]) -> bool:
    """Whether one never follows the other: a capital after "ä", a sign next to a letter."""
    (left, right), (left_kind, right_kind) = pair, kinds
    if not (left + right).isascii() and left.islower() and right.isupper():
        return True
    if left_kind == "SIGN" and left not in _BEFORE_LETTERS:
        return right_kind in _SPACED
    return right_kind == "SIGN" and right not in _AFTER_LETTERS and left_kind in _SPACED


@cache
def _kind(char: str) -> str:
    """The script of a letter, "SIGN", "WRONG" for what no text holds; "" for the rest."""
    category = unicodedata.category(char)
    if char == "\ufffd" or category in ("Cc", "Cn", "Co", "Cs"):
        return "" if char in "\t\n\r\x0c\x1b" else "WRONG"
    name = unicodedata.name(char, "")
    is_symbol = category[0] == "S" and not char.isascii()
    if is_symbol or char in _BEFORE_LETTERS + _AFTER_LETTERS or name.startswith("MODIFIER"):
        return "" if char in _ANYWHERE else "SIGN"
    script = re.split("[ -]", name)[0] if category[0] == "L" else ""
    return "EAST ASIAN" if script in _EAST_ASIAN else script


def _is_damaged_utf8(sample: bytes, *, certain: bool) -> bool:
    """Whether the sample is UTF-8 with a few broken bytes.

    Text in a legacy encoding forms a valid multibyte sequence only by accident. Where
    chardet itself is unsure, a run of broken bytes counts as one.
    """
    text = sample.decode("utf-8", "replace")
    broken = len(re.findall("\ufffd+" if certain else "\ufffd", text))
    whole = len(_MULTIBYTE.findall(text)) - text.count("\ufffd")
    return whole >= broken > 0
