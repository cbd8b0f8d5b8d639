"""Compounds and names of code: as one word, and as their parts.

A compound, words of letters with hyphens between them, has a joined reading as well: "half-life" is
also indexed as "halflife" (ADR 44). With a digit it is none: codes are identifiers (ADR 2), and
1990-1995 is a range. The joined lexemes stand at the end of the tsvector, far from the text's own
and each other: no other lexeme changes its position, and no phrase reaches from one to another.

A name of code has its parts beside it: RenameField is also indexed as rename and field, and
models.CharField as models, char, field and charfield, at the name's own positions (ADR 44); a web
address has them once, behind the text (ADR 124). Postgres' parser itself divides names with
underscores and hyphens.
"""

from __future__ import annotations

import re

from ingestion.lexical.second_forms import LABEL, acronyms_sql, folded_sql, numbers_sql

# ts_token_type's numbers for compounds of letters: asciihword and hword.
_COMPOUNDS = "16, 17"
# Guesses: state-of-the-art has four parts; a longer chain is a list or a path, a long word data.
MOST_PARTS = 4
MOST_LETTERS = 60

# The last position of a tsvector; Postgres moves all later ones to it.
LAST_POSITION = 16_383
# Between two occurrences of a joined lexeme: more words than a phrase leaves out as stop words.
_GAP = 64
# Of the parts of web addresses: no joined lexeme stands there, whose label would be lost.
_OF_ADDRESSES = LAST_POSITION - _GAP // 2
# BM25 is nearly saturated long before; positions from 9,983 on are beyond any chunk of prose.
_MOST_OCCURRENCES = 100
LAST_OF_TEXT = LAST_POSITION - _GAP * _MOST_OCCURRENCES
"""What stands behind this position is a reading of a word of the text, and no word of it."""
# SQL for whether a lexeme's place, with its label, is one of the text or of its web addresses.
IN_TEXT = f"label = 'D' AND place <= {LAST_OF_TEXT} OR place = {_OF_ADDRESSES}"


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


def quoted_sql(expression: str) -> str:
    """SQL for a lexeme as it is written in the text form of a tsvector."""
    return f"'''' || replace(replace({expression}, '\\', '\\\\'), '''', '''''') || ''''"


# ts_token_type's numbers of words, parts of compounds, hosts and files (`form.save` is a host), and
# of addresses.
_NAMES = "1, 2, 3, 4, 5, 6, 9, 10, 11, 19"
_ADDRESS = 5  # what follows is a part of it
# The parser reads HL-200 as HL and -200; and 20 is looked for where a text has −20 °C, or −20.5.
_NEGATIVE = "20, 21"
_MOST_IN_ADDRESS = 200
# Where a hump begins: renameField, HTTPServer, as in `steelyard_words`, and Windows11. McDonald and
# APIs are none, and ROS2 is one word, which is not ROS1.
_HUMP = (
    "(?<=[[:lower:][:digit:]])(?=[[:upper:]])|(?<=[[:upper:]])(?=[[:upper:]][[:lower:]][[:lower:]])"
    r"|(?<=[[:lower:]][[:lower:]][[:lower:]][[:lower:]])(?=[[:digit:]][[:digit:]]|[[:digit:]]\M)"
)
# Without look-around, which takes four times as long.
_CAMEL = "[[:lower:]][[:upper:]]|[[:upper:]][[:upper:]][[:lower:]][[:lower:]]"
_NAME = "|".join(
    (
        _CAMEL,
        "[[:digit:]][[:upper:]]",
        "[[:alnum:]][.][[:alnum:]_]",
        "/[[:alnum:]_]",
        "[[:lower:]][[:digit:]]",
        "-[[:digit:]]",
    )
)
# A single figure as well, of No.8 and Windows7; the whole number of -0.05.
_PART = "(?<=^-)..+|[[:alnum:]][[:alnum:]]+|(?<=[[:alpha:]][./ ])[0-9]"
_PERSON = "^Ma?c[[:upper:]][[:lower:]]+$"


_WORD = re.compile(r"[^\W_]+")
_BEFORE_HUMP = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})|(?<=[a-z]{4})(?=[0-9]{2}|[0-9]\b)"
)


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

    Its columns are `name`, `parts`, and whether the name is a web `address`; `text` is as for
    `joined_sql`.
    """
    return rf"""(
    SELECT name, parts, address
    FROM (
        SELECT DISTINCT token AS name, tokid = {_ADDRESS} AS address
        FROM (
            SELECT tokid, token, lag(tokid, 1, 0) OVER (ORDER BY nth) AS before
            FROM ts_parse('default', (
                SELECT string_agg(word[1], ' ')
                FROM regexp_matches({text}, '\S*(?:{_NAME})\S*', 'g') word
            )) WITH ORDINALITY parsed(tokid, token, nth)
        ) parsed
        WHERE tokid IN ({_NEGATIVE}) AND token ~ '^-'
           OR tokid IN ({_NAMES}) AND before <> {_ADDRESS} AND token ~ '{_NAME}'
              AND length(token) <= CASE tokid WHEN {_ADDRESS} THEN {_MOST_IN_ADDRESS}
                                   ELSE {MOST_LETTERS} END
              AND token !~ '{_PERSON}'
    ) names, LATERAL (
        SELECT string_agg(part[1], ' ') AS parts
        FROM regexp_matches({humps_sql("name")}, '{_PART}', 'g') part
    ) divided
    WHERE parts ~ '[[:alpha:]]' OR name ~ '^-'
)"""  # noqa: S608  # ours


def with_readings_sql(vector: str, config: str, text: str) -> str:
    """SQL for the tsvector with the joined lexemes of compounds and numbers of `text`, the parts of
    its names, its acronyms, and its words without accents (`second_forms`).

    `vector` may be evaluated several times. Joined lexemes have the weight D, like those of a text.
    """
    return f"""(
    WITH names AS MATERIALIZED (SELECT * FROM {names_sql(text)} named)
    SELECT CASE WHEN added IS NULL THEN {vector}
                ELSE ({vector}::text || ' ' || added)::tsvector END
    FROM (
        SELECT string_agg({quoted_sql("lexeme")} || ':' || places, ' ') AS added
        FROM ({_behind_sql(config, text)} UNION ALL {_beside_sql(vector, config, text)}) placed
    ) readings
)"""  # noqa: S608  # ours


def _behind_sql(config: str, text: str) -> str:
    """SQL for the lexemes that stand behind the text, with their places."""
    return f"""
    SELECT lexeme, place::text AS places FROM (
        SELECT lexeme, {LAST_POSITION} - {_GAP} * (row_number() OVER (
                   PARTITION BY lexeme ORDER BY nth) - 1) AS place
        FROM (
            SELECT lexeme, nth FROM (
                SELECT joined, nth FROM {joined_sql(text)} compounds
                UNION ALL
                SELECT joined, nth FROM {numbers_sql(text)} numbers
            ) parted, unnest(to_tsvector({config}, parted.joined))
            UNION ALL
            SELECT acronym, nth FROM {acronyms_sql(text, config)} acronyms
        ) behind
    ) joined WHERE place > {LAST_OF_TEXT}
    UNION ALL
    SELECT lexeme, '{_OF_ADDRESSES}{LABEL}'
    FROM names, unnest(to_tsvector({config}, parts)) WHERE address
"""  # noqa: S608  # ours


def _beside_sql(vector: str, config: str, text: str) -> str:
    """SQL for the lexemes that stand at the places of those of the text."""
    return f"""
    SELECT part.lexeme, (
        SELECT string_agg(position || coalesce(label, weight), ',')
        FROM unnest(whole.positions, whole.weights) at(position, weight))
    FROM (
        SELECT name, concat_ws(' ', parts, CASE WHEN name ~ '{_CAMEL}'
               THEN translate(name, './@', '   ') END), NULL AS label
        FROM names WHERE NOT address
        UNION ALL
        SELECT written, folded, '{LABEL}' FROM {folded_sql(text)} folds
    ) named(name, parts, label),
         unnest(to_tsvector({config}, named.name)) said,
         unnest(to_tsvector({config}, named.parts)) part,
         unnest({vector}) whole
    WHERE whole.lexeme = said.lexeme AND part.lexeme <> said.lexeme
"""  # noqa: S608  # ours
