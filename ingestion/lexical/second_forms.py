"""Second forms of words: what people type for a word that is written otherwise (ADR 124).

Müller is also indexed as muller and mueller, 1,250,000 as 1250000, and the name IT, which is a stop
word, as it stands. A second form has the label C in a tsvector and counts less in BM25, so
that the exact spelling comes first; a number is the same number in every form, and counts in full.
All take a text in its normal form (`normal_form`). The SQL contains no percent signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from ingestion.lexical.normal_form import blocks, members, translated_sql
from ingestion.lexical.written_dates import dates_sql, times_sql

LABEL = "C"
"""Of the positions of folded words in a tsvector."""
FOLDED = 0.5
"""What a folded word of a question counts of an exact one. A guess."""
FOLDED_IN_TEXT = 0.8
"""What one of a text counts: less than the exact word, and enough for a confidence. A guess."""

# Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari: elsewhere combining marks are vowels.
_SCRIPTS = ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x370, 0x52F), (0x5D0, 0x5EA),
            (0x620, 0x64A), (0x671, 0x6D3), (0x900, 0x97F), (0x1E00, 0x1FFF))  # fmt: skip
# Accents, points and vowel signs; Devanagari's point of loan words.
_ACCENTS = ((0x300, 0x36F), (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C7), (0x64B, 0x65F),
            (0x670, 0x670), (0x93C, 0x93C))  # fmt: skip
# Persian's letters are those of Arabic, whose ending ة is typed ه.
_SINGLE = dict(zip(map(ord, "øđðłıħŧىیکة"), "oddlihtييكه", strict=True))
# And Hindi's nasals before a consonant, which most write as a point.
_DOUBLE = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"}
_DOUBLE |= dict.fromkeys(("न्", "म्", "ङ्", "ञ्", "ण्"), "ं")
# As German, Danish, Norwegian and Serbian write where a keyboard lacks the letter; and as Greek
# capitals are in lower case.
_WRITTEN_OUT = {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "đ": "dj", "ς": "σ"}
_ANOTHER_LETTER = "йЙ"  # no и with an accent
_MOST_LETTERS = 60


_OTHERS = {*map(chr, _SINGLE), *_DOUBLE, "ς"}
_MARKS = re.compile(f"(?<!и)[{members(_ACCENTS)}]")


def _foldable() -> str:
    """The members of a class of the letters that a folded word has not."""
    codes = (code for first, last in _SCRIPTS for code in range(first, last + 1))
    letters = [
        code
        for code in codes
        if chr(code).isalpha() and chr(code) not in _ANOTHER_LETTER
        and (len(unicodedata.normalize("NFD", chr(code))) > 1 or chr(code).lower() in _OTHERS)
    ]  # fmt: skip
    return members(blocks(sorted(letters))) + members(_ACCENTS) + "\u094d"


_FOLDABLE = _foldable()
_WORD = f"[0-9{members(_SCRIPTS)}{members(_ACCENTS)}\u094d]"
# Hebrew's and, that, in, the, as, to, from, which are written on to the next word.
_PREFIX = "[וש]?[ובהכלמש](?=[א-ת]{3})"
_FOLDED = f"{_WORD}*[{_FOLDABLE}]{_WORD}*|(?<![א-ת]){_PREFIX}[א-ת]+"


# Separators of thousands, with decimals. With other figures beside it is a date or a version.
_BESIDE, _BEHIND = "(?<![0-9][.,])", "(?![0-9]|[., ''_][0-9])"
_GROUPED = "|".join(
    rf"[1-9][0-9]{{0,2}}(?:{point}[0-9]{{3}}){{1,4}}(?:{comma}[0-9]+)?"
    for point, comma in ((",", "[.]"), ("[.]", ","), ("[ ''_]", "[.,]"))
)
_OF_INDIA = "[1-9][0-9]?(?:,[0-9]{2}){1,3},[0-9]{3}"
_NUMBERS = rf"{_BESIDE}\m(?:{_GROUPED}|{_OF_INDIA}){_BEHIND}"
# A number with a separator of another kind at its end.
_DECIMALS = "^[0-9]+[.].*,|^[0-9]+[, ''_].*[.]|^[0-9]+[ ''_].*,"
# Accounts and cards in groups of four; books; telephones; network cards; and names of parts with
# marks between them, which people leave out: HL-200, H.264, R&D, TCP/IP, O'Brien, צה"ל.
_GROUPS = "|".join(
    (
        r"\m[A-Z]{2}[0-9]{2}(?: [0-9A-Z]{4}){2,7}(?: [0-9A-Z]{1,3})?\M",
        r"\m[0-9]{4}(?: [0-9]{4}){2,4}\M",
        r"\m97[89](?: [0-9]+){3} [0-9]\M",
        r"(?:[+][0-9]{1,3}[-/ ]?(?:[(]0[)] ?)?|[(][0-9]{2,5}[)] ?|\m0[0-9]{1,4}[-/ ])"
        r"[0-9]+(?:[-/ ][0-9]+){0,4}\M",
        r"\m[[:xdigit:]]{2}(?::[[:xdigit:]]{2}){5}\M",
        r"""\m[[:alnum:]]+(?:(?:[-./&"״׳]|''(?:'')?)[[:alnum:]]+)+\M""",
    )
)
_FEWEST_IN_GROUPS, _MOST_IN_NAME = 9, 16  # a date has eight
_FIGURES = "^[-+/() 0-9]+$|[0-9] |^[0-9]{3}[.][0-9]{3}[.][0-9]{4}$|^0[0-9]([.][0-9]{2}){4}$"
_NAME = """[[:upper:]0-9&"״׳]|[а-ґ]''"""
# A compound; decimals, fractions and versions; elision; the end of a sentence, and a host.
_NO_NAME = (
    "^[[:alpha:]-]+$|[0-9][.][0-9]|[0-9]/[0-9]{1,2}(?![0-9])|''[a-zß-ÿ]|"
    "^[[:alpha:]]{2,}([.][[:alpha:]]+)*[.][[:alpha:]]{3,}$"
)
# 2.10.3 of v2.10.3 and of 2.10.3-rc1; decimals, but for three, which may be thousands; and numbers
# with zeros before them.
_VERSIONS = r"\mv([0-9]+(?:[.][0-9]+)+)|\m([0-9]+(?:[.][0-9]+)+)-[a-z][a-z0-9]*"
_FRACTIONS = (
    rf"{_BESIDE}\m[0-9]+[.,](?:[0-9]{{1,2}}|[0-9]{{4,}})(?![.,]?[0-9])|"
    r"\m0+([1-9][0-9]{3,})\M"
)
# 12mm is 12 mm, M8x40 has an M8, and TLS1.3 is TLS 1.3.
_MEASURE = (
    r"(\m([0-9]+(?:[.,][0-9]+)?)([cdkmnu]?m[23]?|[kmu]?g|[mu]?l|[kmM]?V|[kMG]?W|k?Wh|mA|m?Ah|[kMG]?Hz|"
    r"[kMh]?Pa|m?bar|k?N|Nm|k?J|dB|[kM]?Ω|[mu]?S|[munp][HF]|[kMGT]B|ms|min|h|s|ppm|px|rpm|"
    r"kr|[A-Z]{3})\M|"
    r"\m([A-Za-z]{0,2}[0-9]+(?:[.,][0-9]+)?(?:x[0-9]+(?:[.,][0-9]+)?){1,2})\M|"
    r"\m([A-Z]{2,5})([0-9]+[.,][0-9]+)\M)"
)
# Arabic, Persian, Hindi, Bengali and Thai have digits of their own.
DIGITS = {zero + digit: str(digit) for zero in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50)
           for digit in range(10)}  # fmt: skip
_OTHER_DIGITS = f"[{members(blocks(sorted(DIGITS)))}]+"
# SW1A 2AA, ATU 6628 1234 and L. 121-3 are one word, too. 1 1/2 is 1.5, also after a G; and 1:4,
# which is not 4:1, is one word, as 1:45 is as a time of day. In one pattern: Postgres keeps the
# last 32 compiled.
_CODE = (
    r"(\m[A-Z]{1,4}[0-9A-Z]{0,3}[.]?(?: [0-9][0-9A-Z-]{1,6}){1,4}\M|"
    r"\m[A-Z]{0,3}(?:([0-9]{1,4}) {1,2})?([1-7])/([248])\M(?!/)|"
    r"\m([0-9]{1,4}):([0-9]|[6-9][0-9]|[0-9]{3,5})\M(?!:)|"
    rf"{_OTHER_DIGITS})"
)
_NETWORK = r"(\m[0-9]{1,3}(?:[.][0-9]{1,3}){3}\M(?![.][0-9]))"


def numbers_sql(text: str, *, networks: bool = True) -> str:
    """SQL for a table of the text's numbers with separators: each as `written`, and `joined`.

    1,250,000 and 1.250.000,00 are joined 1250000, an IBAN without its spaces, SHA-256 without its
    hyphen; v2.10.3 is 2.10.3, 99,95 is 99.95, 12mm is 12 mm, 1.3.2026 is 20260301, and 2 pm is
    14h00. `nth` is their order. With `networks` the beginning of an IP address is a form of it.
    """
    return rf"""(
    SELECT word[1] AS written,
        regexp_replace(left(word[1], length(word[1]) - length(decimals)), '[^0-9]', '', 'g')
        || CASE WHEN decimals ~ '[1-9]' THEN '.' || rtrim(right(decimals, -1), '0') ELSE '' END
        AS joined, nth
    FROM regexp_matches({text}, '({_NUMBERS})', 'g') WITH ORDINALITY matched(word, nth),
         LATERAL (SELECT CASE WHEN word[1] ~ '{_DECIMALS}'
                              THEN substring(word[1] from '[.,][0-9]+$') ELSE '' END) ends(decimals)
    UNION ALL
    SELECT word[1], {_bare_sql("lower(joined)")}, nth
    FROM regexp_matches({text}, '({_GROUPS})', 'g') WITH ORDINALITY matched(word, nth),
         regexp_replace(word[1], '[^[:alnum:](]', '', 'g') digits,
         translate(regexp_replace(digits, '([0-9])[(]0(.*)', '\1\2 0\2'), '(', '') joined
    WHERE CASE WHEN word[1] ~ '{_FIGURES}' THEN length(joined) >= {_FEWEST_IN_GROUPS}
               ELSE length(joined) <= {_MOST_IN_NAME}
                    AND word[1] ~ '{_NAME}' AND word[1] !~ '{_NO_NAME}' END
    UNION ALL
    SELECT word[1], joined, nth
    FROM regexp_matches({text}, '({_VERSIONS}|{_FRACTIONS})', 'g')
         WITH ORDINALITY matched(word, nth),
         coalesce(word[2], word[3], word[4], regexp_replace(
             translate(word[1], ',', '.'), '[.]?0+$', '')) joined
    WHERE joined <> word[1]
    UNION ALL {dates_sql(text)} UNION ALL {times_sql(text)}
    {_others_sql(text, networks=networks)}
)"""  # noqa: S608  # ours


def _others_sql(text: str, *, networks: bool) -> str:
    """SQL, after that of `numbers_sql`, for measures, sizes, other digits, codes and networks."""
    number = "translate(concat(word[2], word[4], word[6]), 'x,', ' .')"
    parts = "coalesce(word[2], '0')::numeric + word[3]::numeric / word[4]::numeric"
    share = f"word[5] || 'to' || word[6], trim_scale({parts})::text"
    code = translated_sql("lower(translate(word[1], '. -', ''))", DIGITS)
    forms = (
        (_MEASURE, f"concat_ws(' ', word[5], {number}, word[3])"),
        (_CODE, f"coalesce({share}, {code})"),
        *[(_NETWORK, "regexp_replace(word[1], '[.][0-9]+$', '')")] * networks,
    )
    return "".join(
        f"UNION ALL SELECT word[1], {form}, nth"  # noqa: S608  # ours
        f" FROM regexp_matches({text}, '{pattern}', 'g') WITH ORDINALITY matched(word, nth)\n"
        for pattern, form in forms
    )


# Not among other words in capitals: a heading's AND is no acronym. And C++, C#, A+, BBB-.
_ACRONYM = (
    r"(?<![A-Z] )\m([A-Z]{2,5})\M(?! [A-Z]{2})|"
    r"\m([A-Za-z](?:[+][+]|#)|[A-Z]{1,3}[+-]+(?=[^[:alnum:]]|$))"
)


def acronyms_sql(text: str, config: str) -> str:
    """SQL for a table of the text's acronyms that are stop words under the configuration, and of
    its names with signs that the parser drops: C++, F#, A+.

    Its columns are `acronym`, which no stemmer yields as it is in capitals, and `nth`.
    """
    return rf"""(
    SELECT upper(concat(word[1], word[2])) AS acronym, nth
    FROM regexp_matches({text}, '{_ACRONYM}', 'g') WITH ORDINALITY matched(word, nth)
    WHERE word[2] IS NOT NULL OR to_tsvector({config}, word[1]) = ''::tsvector
)"""  # noqa: S608  # ours


def folded_sql(text: str) -> str:
    """SQL for a table of the text's words with accents: each as `written`, and `folded`.

    Folded is without accents, and if that differs with the letters written out: muller mueller;
    of Hebrew also without a prefix.
    """
    return rf"""(
    SELECT written, concat_ws(' ', bare, nullif(written_out, bare),
        nullif(regexp_replace(bare, '^{_PREFIX}', ''), bare)) AS folded
    FROM (
        SELECT DISTINCT word[1] AS written, lower(word[1]) AS small
        FROM regexp_matches({text}, '{_FOLDED}', 'g') word
        WHERE length(word[1]) BETWEEN 2 AND {_MOST_LETTERS}
    ) words, LATERAL (
        SELECT {_bare_sql("small")} AS bare, {_bare_sql(_replaced("small", _WRITTEN_OUT))}
    ) folds(bare, written_out)
)"""  # noqa: S608  # ours


def folded(text: str, *, written_out: bool = False) -> str:
    """The text in lower case without accents, as `folded_sql` folds words: muller, or mueller."""
    small = text.lower()
    if small.isascii():
        return small
    for letter, written in (_WRITTEN_OUT | _DOUBLE if written_out else _DOUBLE).items():
        small = small.replace(letter, written)
    bare = _MARKS.sub("", unicodedata.normalize("NFD", small.translate(_SINGLE)))
    return unicodedata.normalize("NFC", bare)


@cache
def written_as() -> Mapping[str, str]:
    """The letters with accents, in either case, by what is typed for them: a letter, or two."""
    letters: defaultdict[str, str] = defaultdict(str)
    for first, last in _SCRIPTS:
        for char in map(chr, range(first, last + 1)):
            if (bare := folded(char)) != char.lower() and bare.isalpha():
                letters[bare] += char
            if out := _WRITTEN_OUT.get(char.lower()):
                letters[out] += char
    return dict(letters)


def _bare_sql(word: str) -> str:
    """SQL for a word in lower case without accents."""
    plain = translated_sql(_replaced(word, _DOUBLE), _SINGLE)
    accents = f"(?<!и)[{members(_ACCENTS)}]"
    return f"normalize(regexp_replace(normalize({plain}, NFD), '{accents}', '', 'g'), NFC)"


def _replaced(expression: str, table: Mapping[str, str]) -> str:
    for letter, written in table.items():
        expression = f"replace({expression}, '{letter}', '{written}')"
    return expression
