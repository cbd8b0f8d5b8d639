"""Days and times of day as texts write them, and the names of months in five languages."""

from __future__ import annotations

_NAMES = """
january jan januar jänner janvier janv enero gennaio
february feb februar février févr febrero febbraio
march mar märz mars marzo
april apr avril abril aprile
may mai mayo maggio
june jun juni juin junio giugno
july jul juli juillet juil julio luglio
august aug août agosto
september sep sept septembre septiembre settembre
october oct oktober okt octobre octubre ottobre
november nov novembre noviembre
december dec dezember dez décembre déc diciembre dicembre
""".strip().splitlines()
MONTHS = {name: number for number, line in enumerate(_NAMES, start=1) for name in line.split()}

_YEAR, _MONTH, _DAY = "([12][0-9]{3})", "([01]?[0-9])", "([0-3]?[0-9])"
_LATE = "(1[3-9]|2[0-9]|3[01])"
# Any word: the names themselves take Postgres twice the time. With the C locale ä is no letter.
_NAME = "([^[:space:][:digit:][:punct:]]{3,10})"
# The groups of each form: year, month, day, name of the month, year of this century (guessed up to
# 2049). 3/1/2026 has two readings.
_FORMS = {
    rf"\m{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}\M": "ymd",
    rf"\m{_DAY}[.] ?{_MONTH}[.] ?{_YEAR}\M": "dmy",
    r"\m([0-3][0-9])[.]([01][0-9])[.]([0-4][0-9])\M(?![.])": "dms",
    rf"\m{_LATE}/{_MONTH}/{_YEAR}\M": "dmy",
    rf"\m{_MONTH}/{_LATE}/{_YEAR}\M": "mdy",
    rf"\m{_DAY}(?:st|nd|rd|th|[.])?[- ](?:of |de )?{_NAME}[.]?,?[- ](?:de )?{_YEAR}\M": "dny",
    rf"\m{_NAME}[.]? {_DAY}(?:st|nd|rd|th)?,? {_YEAR}\M": "ndy",
}
_WIDTH = max(map(len, _NAMES)) + 2
_TABLE = "".join(f"|{line.replace(' ', '|')}|".ljust(_WIDTH) for line in _NAMES)


def dates_sql(text: str) -> str:
    """SQL for a query of the text's days: each as written, as 20260301, and their order."""

    def part(letter: str) -> str:
        groups = enumerate("".join(_FORMS.values()), start=2)
        return f"concat({', '.join(f'word[{place}]' for place, each in groups if each == letter)})"

    name = f"strpos('{_TABLE}', '|' || lower({part('n')}) || '|')"
    month = f"concat({part('m')}, nullif(({name} + {_WIDTH - 1}) / {_WIDTH}, 0))"
    year = f"concat({part('y')}, '20' || nullif({part('s')}, ''))"
    return rf"""
    SELECT word[1], {year} || lpad({month}, 2, '0') || lpad({part("d")}, 2, '0'), nth
    FROM regexp_matches({text}, '({"|".join(_FORMS)})', 'g') WITH ORDINALITY matched(word, nth)
    WHERE {month} <> ''
"""  # noqa: S608  # ours


# 14:30, 14h30, 2:30 pm, 2 p.m., 14.30 Uhr.
_HALF = " ?([aApP])[.]?[mM]"
_TIME = (
    rf"\m([01]?[0-9]|2[0-4])"
    rf"(?:[:h]([0-5][0-9])(?::[0-5][0-9])?(?:{_HALF})?|(?:[.]([0-5][0-9]))?(?:{_HALF}| Uhr))"
    r"\M(?!:[0-9])"
)


def times_sql(text: str) -> str:
    """SQL for a query of the text's times of day: each as written, as 14h30, and their order."""
    half = "lower(concat(word[4], word[6]))"
    hour = f"mod(word[2]::int, CASE {half} WHEN '' THEN 25 ELSE 12 END)"
    return rf"""
    SELECT word[1], lpad(({hour} + CASE {half} WHEN 'p' THEN 12 ELSE 0 END)::text, 2, '0') || 'h'
        || rpad(concat(word[3], word[5]), 2, '0'), nth
    FROM regexp_matches({text}, '({_TIME})', 'g') WITH ORDINALITY matched(word, nth)
    WHERE word[1] !~ '^[0-9]{{2}}h[0-9]+$'
"""  # noqa: S608  # ours
