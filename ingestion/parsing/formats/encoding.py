"""Bytes -> str in any encoding: by byte order mark, NULs, strict UTF-8, declaration, detection.

Detection is by chardet; of a short text it counts the usual encodings alone.
"""

from __future__ import annotations

import codecs
import re

from ingestion.files.filetypes import unmarked_codec

# UTF-32's little-endian mark begins with UTF-16's, so it is tried first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Text declared as the name on the left is in practice in its superset: encoding.spec.whatwg.org.
_SUPERSETS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "shift_jis": "cp932",
    "shift_jis_2004": "cp932", "euc_jis_2004": "euc_jp", "euc_kr": "cp949", "gb2312": "gb18030",
    "gbk": "gb18030", "big5": "big5hkscs",
}  # fmt: skip
_ISO_2022 = re.compile(rb"\x1b[$(]")

DETECTION_BYTES = 200_000
_CONTEXT_BYTES = 1_000
_SURE = 0.3
"""Above this confidence chardet was right on all 114 lines tried; wrong answers had up to .18."""

_BEYOND_ASCII = re.compile(rb"[\x80-\xff\x1b]")
_MULTIBYTE = re.compile(r"[\x80-\U0010ffff]")
# A word of another alphabet has several letters of it: § in a text is no Thai.
_ALPHABETS = frozenset({"cp1251", "cp1253", "cp1255", "cp1256", "cp874", "koi8-r"})
_LETTERS = re.compile(rb"[\x80-\xff]{3}")
# Of a sentence or less, by frequency. The others that chardet knows fit many short texts.
_USUAL = (
    *("cp1252", "cp1251", "cp1250", "cp1254", "cp1253", "cp1255", "cp1256", "cp1257", "cp874"),
    *("iso8859-2", "koi8-r", "cp932", "cp949", "gb18030", "big5hkscs", "euc_jp", "cp850"),
)


def decode(data: bytes, declared: str = "") -> str:
    """`data` as text with Unix line ends. Never fails: undecodable bytes become U+FFFD.

    `declared` is the encoding that the file states (HTML's meta, XML's declaration).
    """
    return _decode(data, declared).replace("\r\n", "\n").replace("\r", "\n")


def _decode(data: bytes, declared: str) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    head = data[:DETECTION_BYTES]
    if codec := unmarked_codec(head):
        return data.decode(codec, "replace")
    if not _ISO_2022.search(head):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    if name := known_codec(declared):
        try:
            return data.decode(name)
        except (UnicodeDecodeError, ValueError):
            pass
    encoding = detected(data)
    return data.decode(known_codec(encoding) or encoding, "replace")


def known_codec(declared: str) -> str:
    """Python's name of a declared text encoding; empty for an unknown one."""
    declared = declared.strip().strip("\"'").lower()
    try:
        codec = codecs.lookup(declared) if declared else None
    except (LookupError, ValueError):
        # It knows more of the names in mail and web pages: x-sjis, windows-874.
        from chardet.registry import lookup_encoding

        codec = codecs.lookup(known) if (known := lookup_encoding(declared)) else None
    # The standard library's bytes-to-bytes codecs, such as zlib, are not text encodings.
    if codec is None or not getattr(codec, "_is_text_encoding", True):
        return ""
    return "" if codec.name.startswith("utf-16") else _SUPERSETS.get(codec.name, codec.name)


def detected(data: bytes) -> str:
    """The name of the encoding; UTF-8 if the bytes are UTF-8 but for a few broken ones.

    chardet's answer; if it is not sure, its first one that is usual and fits.
    """
    import chardet

    # A legacy file may begin with any amount of plain ASCII, which fits every encoding.
    first = _BEYOND_ASCII.search(data)
    start = max(first.start() - _CONTEXT_BYTES, 0) if first else 0
    sample = data[start : start + DETECTION_BYTES]
    guesses = chardet.detect_all(sample, ignore_threshold=True)
    confidence = guesses[0]["confidence"]
    if not guesses[0]["encoding"] or _is_damaged_utf8(sample, is_unsure=confidence < 0.1):
        return "utf-8"
    if confidence > _SURE:
        return guesses[0]["encoding"]
    shares = ((round(one["confidence"], 3), known_codec(one["encoding"] or "")) for one in guesses)
    usual = [
        (-share, _USUAL.index(codec))
        for share, codec in shares
        if codec in _USUAL
        and (codec not in _ALPHABETS or _LETTERS.search(sample))
        and "\ufffd" not in sample.decode(codec, "replace")
    ]
    return _USUAL[min(usual)[1]] if usual else guesses[0]["encoding"]


def _is_damaged_utf8(sample: bytes, *, is_unsure: bool) -> bool:
    """Whether the sample is UTF-8 with a few broken bytes.

    Text in a legacy encoding forms valid multibyte sequences only by accident. If chardet is
    unsure, a run of broken bytes counts as one.
    """
    text = sample.decode("utf-8", "replace")
    broken = len(re.findall("\ufffd+" if is_unsure else "\ufffd", text))
    whole = len(_MULTIBYTE.findall(text)) - text.count("\ufffd")
    return whole >= broken > 0
