"""The joined reading of a compound, in SQL: "half-life" is also indexed as "halflife" (ADR 44).

A compound is what Postgres' parser takes for one: words of letters with hyphens between them. With
a digit it is none: codes and versions are identifiers, which have an index of their own (ADR 2),
and 1990-1995 is a range. Runs of letters without spaces (`ngrams`) contain no hyphens.

The joined lexemes stand at the end of the tsvector, far from the text's own and from each other:
no other lexeme changes its position, and no phrase reaches from one to another.
"""

from __future__ import annotations

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
    gets it (`ngrams`). Contains no percent signs.
    """
    return f"""(
    SELECT token AS compound, replace(token, '-', '') AS joined, nth
    FROM ts_parse('default', {text}) WITH ORDINALITY parsed(tokid, token, nth)
    WHERE tokid IN ({_COMPOUNDS}) AND length(token) <= {MOST_LETTERS}
      AND length(token) - length(replace(token, '-', '')) < {MOST_PARTS}
)"""  # noqa: S608  # ours


def hyphenated_sql(text: str) -> str:
    """SQL for the words of the text that contain a hyphen, between spaces; NULL without one.

    To parse those alone takes a fifth of the time, where a whole text is not parsed anyway.
    """
    return rf"""(
    SELECT string_agg(part[1], ' ')
    FROM regexp_matches({text}, '\S*[^\s-]-[^\s-]\S*', 'g') part
)"""  # noqa: S608  # ours


def with_joined_sql(vector: str, config: str, text: str) -> str:
    """SQL for the tsvector with the joined lexemes of the compounds of `text` added.

    `vector` may be read twice. The lexemes have the weight D, as those of a text.
    """
    lexeme = "'''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || ''''"
    return f"""(
    SELECT CASE WHEN added IS NULL THEN {vector}
                ELSE ({vector}::text || ' ' || added)::tsvector END
    FROM (
        SELECT string_agg({lexeme} || ':' || place, ' ') AS added
        FROM (
            SELECT lexeme, {_LAST_POSITION} - {_GAP} * (row_number() OVER (
                       PARTITION BY lexeme ORDER BY nth) - 1) AS place
            FROM {joined_sql(text)} parted,
                 unnest(to_tsvector({config}, parted.joined))
        ) placed
        WHERE place > {_LAST_POSITION - _GAP * _MOST_OCCURRENCES}
    ) joined_lexemes
)"""  # noqa: S608  # ours
