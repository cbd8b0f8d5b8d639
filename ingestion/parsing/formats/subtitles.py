"""Subtitles and transcripts (SRT, WebVTT) -> their words, without times and tags.

A sentence goes on from cue to cue, each of a line or two: they are joined, a paragraph a speaker.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_TIME = r"(?:\d{1,3}:)?\d\d:\d\d[.,]\d{3}"
_CUE = re.compile(rf"^{_TIME}[ \t]+-->[ \t]+{_TIME}.*\n((?:.*\S.*(?:\n|\Z))*)", re.MULTILINE)
_BEGINNING = re.compile(rf"\ufeff?\s*(?:WEBVTT\b|\d+\s*[\r\n]{_TIME}[ \t]+-->)")
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[A-Za-z\d:.][^>]*>|\{\\[^}]*\}")
_SENTENCE = re.compile(r"^(?!WEBVTT).*\w \w.*$", re.MULTILINE)
# A guess: the share of notes and styles beside the cues.
_MOST_BESIDE = 0.5
# Guesses: a paragraph ends with the first sentence beyond, or without one at the second.
_LONG, _TOO_LONG = 600, 1_500
_SENTENCE_ENDS = (".", "?", "!", "。", "？", "！")


_FOLDED = re.compile(r"\n[ \t]")
_ENCODED = re.compile(r"^[^:\n]*;ENCODING=(?:b|base64)\b.*\n?", re.MULTILINE | re.IGNORECASE)
_ESCAPED = re.compile(r"\\([,;\\nN])")


def unfolded(text: str) -> str:
    """The fields of a calendar or an address card, each a line, without pictures in letters.

    Their format (RFC 5545, 6350) folds lines in the midst of words. Any other text as it is.
    """
    if not text.lstrip("\ufeff").startswith(("BEGIN:VCALENDAR", "BEGIN:VCARD")):
        return text
    lines = _ENCODED.sub("", _FOLDED.sub("", text.replace("\r\n", "\n")))
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], lines)


def spoken(text: str) -> str:
    """The words of subtitles in paragraphs; any other text, and odd subtitles, as they are."""
    if not _BEGINNING.match(text):
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    words = "\n\n".join(_paragraphs(lines))
    beside = sum(map(len, _SENTENCE.findall(_CUE.sub("", lines))))
    return words if beside < _MOST_BESIDE * len(words) else text


def _paragraphs(text: str) -> Iterator[str]:
    speaker, said = "", ""
    for cue in _CUE.finditer(text):
        named = _SPEAKER.search(cue[1])
        words = " ".join(html.unescape(_TAG.sub("", cue[1])).split())
        is_full = len(said) > _TOO_LONG or (len(said) > _LONG and said.endswith(_SENTENCE_ENDS))
        if said and (is_full or (named and named[1] != speaker)):
            yield said
            said = ""
        if named and (not said or named[1] != speaker):
            speaker, words = named[1], f"{named[1]}: {words}"
        said = f"{said} {words}".strip()
    if said:
        yield said
