"""Languages: their detection and configurations; words of scripts that Postgres cannot split.

Chinese, Japanese and Thai do not separate words by spaces, and Korean attaches particles to them:
a run of their letters becomes overlapping bigrams, interleaved with the letters that can be words
on their own (Nie, Gao, Zhang & Zhou 2000). 北京大学 becomes 北 北京 京 京大 大 大学 学, and a part
of it the same tokens, so that phrase search works. Combining marks stay with their letter.

A compound, words of letters with hyphens between them, has a joined reading as well: "half-life" is
also indexed as "halflife" (ADR 44). With a digit it is none: codes are identifiers (ADR 2), and
1990-1995 is a range. The joined lexemes stand at the end of the tsvector, far from the text's own
and each other: no other lexeme changes its position, and no phrase reaches from one to another.

A name of code has its parts beside it: RenameField is also indexed as rename and field, form.save
as form and save, at the name's own positions (ADR 44). Postgres' parser itself divides names with
underscores and hyphens.

Only the input of `to_tsvector` is transformed; the stored text and its offsets do not change.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

# Postgres' built-in snowball configurations by ISO 639-1 code (pg_ts_config, Postgres 16-18).
TEXT_CONFIGS = {
    "ar": "arabic",
    "hy": "armenian",
    "eu": "basque",
    "ca": "catalan",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "ga": "irish",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
DEFAULT_CONFIG = "simple"

# Detection from a few words is unreliable; with fewer letters the default language is used.
MIN_LETTERS = 40
# A guess: below it the risk of a wrong stemmer outweighs the default configuration.
MIN_PROBABILITY = 0.9
SAMPLE_CHARS = 4_000


def text_config(language: str) -> str:
    """The text configuration for an ISO 639-1 code (a region is ignored); `simple` for others."""
    return TEXT_CONFIGS.get(primary_code(language), DEFAULT_CONFIG)


def primary_code(language: str) -> str:
    """The two-letter code of a language tag: `en` for `en-GB`; empty if it has none."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return code if len(code) == 2 else ""


def detect_language(text: str) -> str:
    """The ISO 639-1 code of `text`'s language; empty if too short or uncertain.

    Runs langid (Lui & Baldwin 2012) on a sample from the beginning and the middle, because the
    first page of a document is often front matter.
    """
    middle = len(text) // 2
    sample = text[:SAMPLE_CHARS] + " " + text[middle : middle + SAMPLE_CHARS]
    if sum(map(str.isalpha, sample)) < MIN_LETTERS:
        return ""
    code, probability = _identifier().classify(sample)
    return str(code) if probability >= MIN_PROBABILITY else ""


@lru_cache(maxsize=4096)  # the workbench ranks the same questions at every move of a slider
def language_odds(text: str) -> Mapping[str, float]:
    """The probability of each language (ISO 639) that langid knows, the most probable first.

    0.1 ms for a question; the first call of a process loads langid, 0.8 s.
    """
    return dict(_identifier().rank(text[:SAMPLE_CHARS]))


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


_THAI_LAO, _MYANMAR, _KHMER = (0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)
_SOUTH_EAST = (_THAI_LAO, _MYANMAR, _KHMER, (0xA9E0, 0xA9FE), (0xAA60, 0xAA7F))
_HAN = ((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))
_HANGUL = ((0xAC00, 0xD7A3),)
_KANA = ((0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x312F), (0x31F0, 0x31FF))
_KANA_MARKS = ((0x3099, 0x309A),)
_HALF_WIDTH_KANA = (0xFF66, 0xFF9F)
_FULL_WIDTH = ((0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A))
# Every mark of punctuation and separator outside ASCII lies here (a test goes through Unicode).
_PUNCTUATION = ((0x80, 0x1FFFF),)


def _in_blocks(blocks: Iterable[tuple[int, int]], categories: str) -> Iterator[int]:
    """Yield the blocks' code points whose category begins with one of the letters."""
    for first, last in blocks:
        for code in range(first, last + 1):
            if unicodedata.category(chr(code))[0] in categories:
                yield code


def _members(blocks: Iterable[tuple[int, int]]) -> str:
    """The ranges as a bracket expression's content, valid in Python and in Postgres."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in blocks)


def _blocks(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield ascending code points as ranges without gaps."""
    first = last = -1
    for code in codes:
        if code != last + 1:
            if first >= 0:
                yield first, last
            first = code
        last = code
    if first >= 0:
        yield first, last


def _wide() -> dict[int, str]:
    """The usual form of each full-width letter or digit and half-width katakana."""
    return {
        code: unicodedata.normalize("NFKC", chr(code))
        for first, last in (*_FULL_WIDTH, _HALF_WIDTH_KANA)
        for code in range(first, last + 1)
    }


# With the C locale, Postgres' parser treats every non-ASCII character as a letter, so that “word”
# and word—word would each be a single word. Apostrophes and hyphens of words get their ASCII form;
# Hebrew's geresh and gershayim stay: they are part of numbers and abbreviations.
_MARKS_OF_WORDS = {0x2019: "'", 0x058A: "-", 0x05BE: "-", 0x2010: "-", 0x2011: "-"}
_LETTER_LIKE = {0x05F3, 0x05F4}
_SPACES = {*_in_blocks(_PUNCTUATION, "PZ"), 0x200B, 0x200E, 0x200F, 0xFEFF} - _LETTER_LIKE
_SPACED = dict.fromkeys(_SPACES, " ") | _MARKS_OF_WORDS
_WIDE = _wide()
_WHOLE = _members((*_HAN, *_HANGUL))  # letters that can be words on their own
_LETTERS = _WHOLE + _members((*_KANA, *_blocks(_in_blocks(_SOUTH_EAST, "L"))))
_MARKS = _members((*_KANA_MARKS, *_blocks(_in_blocks(_SOUTH_EAST, "M"))))
_RUN = _LETTERS + _MARKS
_TO_SPLIT = f"[{_RUN}{''.join(map(chr, _WIDE))}]"
_TO_SPACE = f"[{_members(_blocks(sorted(_SPACED)))}]"

# Applied in this order. A letter inside a run ends one bigram and begins the next.
_STEPS = (
    (f"([{_RUN}]+)", r" \1 "),
    (f"(?<=[{_RUN}])([{_WHOLE}][{_MARKS}]*)(?![{_RUN}])", r"\1 \1"),
    (f"(?<=[{_RUN}])([{_LETTERS}][{_MARKS}]*)(?=[{_LETTERS}])", r"\1 \1"),
    (f"([{_WHOLE}][{_MARKS}]*)(?=[{_LETTERS}])", r"\1 \1"),
)
_PATTERNS = tuple((re.compile(pattern), replacement) for pattern, replacement in _STEPS)
_PART = re.compile(f"(?![{_WHOLE}])[{_LETTERS}][{_MARKS}]*")
_SPLITS = re.compile(_TO_SPLIT)
_UNWRITTEN = _members((_HALF_WIDTH_KANA,))
UNIT = re.compile(f"[{_LETTERS}{_UNWRITTEN}][{_MARKS}\uff9e\uff9f]*")
"""A letter of a run with its combining marks, as written in a text."""
IN_RUN = re.compile(f"[{_RUN}{_UNWRITTEN}]")
"""A letter or mark that can begin or end a word without a space."""


def spaced(text: str) -> str:
    """`text` prepared for `to_tsvector`; unchanged if there is nothing to split or fold."""
    text = text.translate(_SPACED)
    if not _SPLITS.search(text):
        return text
    text = unicodedata.normalize("NFC", text.translate(_WIDE))
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def spaced_sql(expression: str) -> str:
    """SQL that computes `spaced` of a text expression. Contains no percent signs."""
    # Punctuation separately: `translate` compares each character with each of its list.
    plain = tidied_sql(expression)
    split = f"normalize({_translated('t', _WIDE)}, NFC)"
    for pattern, replacement in _STEPS:
        split = f"regexp_replace({split}, {_quoted(pattern)}, {_quoted(replacement)}, 'g')"
    return (
        f"(SELECT CASE WHEN t ~ {_quoted(_TO_SPLIT)} THEN {split} ELSE t END"  # noqa: S608  # ours
        f" FROM (SELECT {plain} AS t) tidied)"
    )


def tidied_sql(expression: str) -> str:
    """SQL that replaces punctuation unknown to Postgres' parser; keeps the text's length."""
    plain = f"regexp_replace({_translated('t', _MARKS_OF_WORDS)}, {_quoted(_TO_SPACE)}, ' ', 'g')"
    return (
        f"(SELECT CASE WHEN t ~ {_quoted(_TO_SPACE)} THEN {plain} ELSE t END"  # noqa: S608  # ours
        f" FROM (SELECT {expression} AS t) given)"
    )


def units(text: str) -> list[tuple[int, int, str]]:
    """The letters of runs in `text` as (start, end, indexed form)."""
    return [(match.start(), match.end(), _folded(match.group())) for match in UNIT.finditer(text)]


def has_part(text: str) -> bool:
    """True if `text` contains, in isolation, a letter that cannot be a word on its own.

    Runs of letters in other texts have no lexeme for it.
    """
    return any(_PART.fullmatch(word) for word in spaced(text).split())


def _folded(unit: str) -> str:
    return unicodedata.normalize("NFC", unit.translate(_WIDE))


def _translated(expression: str, table: Mapping[int, str]) -> str:
    return (
        f"translate({expression}, {_quoted(''.join(map(chr, table)))},"
        f" {_quoted(''.join(table.values()))})"
    )


def _quoted(text: str) -> str:
    """An SQL literal; requires standard_conforming_strings, Postgres' default."""
    return "'" + text.replace("'", "''") + "'"


# ts_token_type's numbers for compounds of letters: asciihword and hword.
_COMPOUNDS = "16, 17"
# Guesses: state-of-the-art has four parts; a longer chain is a list or a path, a long word data.
MOST_PARTS = 4
MOST_LETTERS = 60

# The last position of a tsvector; Postgres moves all later ones to it.
_LAST_POSITION = 16_383
# Between two occurrences of a joined lexeme: more words than a phrase leaves out as stop words.
_GAP = 64
# BM25 is nearly saturated long before; positions from 9,983 on are beyond any chunk of prose.
_MOST_OCCURRENCES = 100


def joined_sql(text: str) -> str:
    """SQL for a table of the text's compounds in order: each as written, and joined.

    Its columns are `compound`, `joined` and `nth`. `text` is a text expression as `to_tsvector`
    gets it (`spaced`). Contains no percent signs.
    """
    return f"""(
    SELECT token AS compound, replace(token, '-', '') AS joined, nth
    FROM ts_parse('default', {text}) WITH ORDINALITY parsed(tokid, token, nth)
    WHERE tokid IN ({_COMPOUNDS}) AND length(token) <= {MOST_LETTERS}
      AND length(token) - length(replace(token, '-', '')) < {MOST_PARTS}
)"""  # noqa: S608  # ours


def hyphenated_sql(text: str) -> str:
    """SQL for the words of the text that contain a hyphen, between spaces; NULL without one.

    Parsing these alone takes a fifth of the time of parsing the whole text.
    """
    return rf"""(
    SELECT string_agg(part[1], ' ')
    FROM regexp_matches({text}, '\S*[^\s-]-[^\s-]\S*', 'g') part
)"""  # noqa: S608  # ours


def quoted_sql(expression: str) -> str:
    """SQL for a lexeme as it is written in the text form of a tsvector."""
    return f"'''' || replace(replace({expression}, '\\', '\\\\'), '''', '''''') || ''''"


# ts_token_type's numbers of words, parts of compounds, hosts and files: `form.save` is a host.
_NAMES = "1, 2, 3, 6, 9, 10, 11, 19"
_ADDRESS = "5, 14"  # an address, a protocol: what follows is a part of it
# Where a hump begins: renameField, HTTPServer, as in `steelyard_words`. McDonald and APIs are none.
_HUMP = (
    "(?<=[[:lower:][:digit:]])(?=[[:upper:]])|(?<=[[:upper:]])(?=[[:upper:]][[:lower:]][[:lower:]])"
)
# Without look-around, which takes four times as long.
_NAME = "|".join(
    (
        "[[:lower:][:digit:]][[:upper:]]",
        "[[:upper:]][[:upper:]][[:lower:]][[:lower:]]",
        "[[:alnum:]][./][[:alnum:]_]",
    )
)
_PERSON = "^Ma?c[[:upper:]][[:lower:]]+$"


_WORD = re.compile(r"[^\W_]+")
_BEFORE_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")


def name_parts(text: str, *, whole: bool = False) -> list[str]:
    """The lower-case words of a text, names split; with `whole`, camel-case names unsplit too."""
    words = [(word, _BEFORE_HUMP.split(word)) for word in _WORD.findall(text)]
    return [
        part.casefold()
        for word, parts in words
        for part in (parts if len(parts) == 1 or not whole else (word, *parts))
    ]


def humps_sql(text: str) -> str:
    """SQL for the text with a space before each part of its camel-case names; without braces."""
    return f"regexp_replace({text}, '{_HUMP}', ' ', 'g')"


def names_sql(text: str) -> str:
    """SQL for a table of the text's names of code: each as written, and its parts, with spaces.

    Its columns are `name` and `parts`; `text` is as for `joined_sql`. Addresses yield no names.
    """
    return rf"""(
    SELECT name, parts
    FROM (
        SELECT DISTINCT token AS name
        FROM (
            SELECT tokid, token, lag(tokid, 1, 0) OVER (ORDER BY nth) AS before
            FROM ts_parse('default', (
                SELECT string_agg(word[1], ' ')
                FROM regexp_matches({text}, '\S*(?:{_NAME})\S*', 'g') word
            )) WITH ORDINALITY parsed(tokid, token, nth)
        ) parsed
        WHERE tokid IN ({_NAMES}) AND before NOT IN ({_ADDRESS}) AND length(token) <= {MOST_LETTERS}
          AND token ~ '{_NAME}' AND token !~ '{_PERSON}'
    ) names, LATERAL (
        SELECT string_agg(part[1], ' ') AS parts
        FROM regexp_matches({humps_sql("name")}, '[[:alnum:]][[:alnum:]]+', 'g') part
    ) divided
    WHERE parts ~ '[[:alpha:]]'
)"""  # noqa: S608  # ours


def with_readings_sql(vector: str, config: str, text: str) -> str:
    """SQL for the tsvector with the joined lexemes of compounds of `text`, and the parts of names.

    `vector` may be evaluated several times. Joined lexemes have the weight D, like those of a text.
    """
    return f"""(
    SELECT CASE WHEN added IS NULL THEN {vector}
                ELSE ({vector}::text || ' ' || added)::tsvector END
    FROM (
        SELECT string_agg({quoted_sql("lexeme")} || ':' || places, ' ') AS added
        FROM (
            SELECT lexeme, place::text AS places FROM (
            SELECT lexeme, {_LAST_POSITION} - {_GAP} * (row_number() OVER (
                       PARTITION BY lexeme ORDER BY nth) - 1) AS place
            FROM {joined_sql(text)} parted,
                 unnest(to_tsvector({config}, parted.joined))
            ) joined WHERE place > {_LAST_POSITION - _GAP * _MOST_OCCURRENCES}
            UNION ALL
            SELECT part.lexeme, (SELECT string_agg(position || weight, ',')
                                 FROM unnest(whole.positions, whole.weights) at(position, weight))
            FROM {names_sql(text)} named,
                 unnest(to_tsvector({config}, named.name)) said,
                 unnest(to_tsvector({config}, named.parts)) part,
                 unnest({vector}) whole
            WHERE whole.lexeme = said.lexeme
        ) placed
    ) readings
)"""  # noqa: S608  # ours
