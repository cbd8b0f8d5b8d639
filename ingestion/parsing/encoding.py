"""Bytes -> str, whatever the encoding: by its mark, its NULs, strict UTF-8, declared, detected."""

from __future__ import annotations

import codecs
import re

from ingestion.files.text_signs import unmarked_codec

from .detecting import DETECTION_BYTES, detected

# UTF-32's little-endian mark begins with UTF-16's, so it stands first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What is written under the left name is in practice its superset: encoding.spec.whatwg.org.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
}
# Names that mail and web pages give to encodings that Python knows by another.
_ALIASES = {
    "x-sjis": "cp932",
    "x-ms-cp932": "cp932",
    "windows-31j": "cp932",
    "ms_kanji": "cp932",
    "x-euc-jp": "euc_jp",
    "x-euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "ks_c_5601-1989": "cp949",
    "ksc_5601": "cp949",
    "windows-949": "cp949",
    "x-windows-949": "cp949",
    "x-gbk": "gb18030",
    "x-gb2312": "gb18030",
    "gb_2312-80": "gb18030",
    "cn-gb": "gb18030",
    "x-x-big5": "big5hkscs",
    "cn-big5": "big5hkscs",
    "big5-hkscs": "big5hkscs",
    "windows-874": "cp874",
    "dos-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "logical": "iso8859-8",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "koi8-ru": "koi8_u",
    "utf8mb4": "utf-8",
    "unicode-1-1-utf-8": "utf-8",
    "x-unicode20utf8": "utf-8",
}
_ISO_2022 = re.compile(rb"\x1b[$(]")


def decode(data: bytes, declared: str = "") -> str:
    """`data` as text with Unix line ends. Never fails: what cannot be read becomes U+FFFD.

    `declared` is the encoding the file names itself (HTML's meta, XML's declaration).
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
    if name := _known_codec(declared):
        try:
            return data.decode(name)
        except (UnicodeDecodeError, ValueError):
            pass
    found = detected(data)
    return data.decode(_known_codec(found) or found, "replace")


def _known_codec(declared: str) -> str:
    """Python's name of a declared text encoding, empty for an unknown one."""
    declared = declared.strip().strip("\"'").lower()
    declared = _ALIASES.get(declared, declared)
    try:
        found = codecs.lookup(declared) if declared else None
    except (LookupError, ValueError):
        return ""
    # The stdlib's own codecs of bytes to bytes, such as zlib, are no text encodings.
    if found is None or not getattr(found, "_is_text_encoding", True):
        return ""
    return "" if found.name.startswith("utf-16") else _SUPERSETS.get(found.name, found.name)
