"""Q1: string -> Query: operators, text, identifiers.

The operators: "exact words", -word, -"exact words", field:value with a field of FIELDS; for
metadata meta.KEY:value and meta.KEY>=value (or >, <, <=). Everything else, stray quotes and
hyphens included, is plain text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ingestion.identifiers import Pattern, index_forms, is_single_identifier, query_identifiers
from ingestion.metadata import clean
from search.domain import Query, QueryIdentifier
from search.errors import NothingAsked, QueryTooLong
from search.query import naming
from search.query.fields import FIELDS, METADATA, METADATA_FIELD, Operator, filters_of

MAX_QUERY_CHARS = 500  # as in the seed system Physical AI
QUOTES = " `'\"“”‘’«»?!.,"
_MARKS = '"“”„«»'
_ENDS = ".,;:!?)"

# A hyphen before a digit or a single letter is a negative number or a command-line option (-5, -v).
_OPERATOR = re.compile(
    rf"""
      (?<!\S) (?P<minus>-?) (?: (?P<field>{"|".join(FIELDS)}) : | {METADATA_FIELD})
          (?: [{_MARKS}] (?P<quoted>[^{_MARKS}]+) [{_MARKS}]
            | (?P<bare>[^\s:{_MARKS}][^\s{_MARKS}]*) )
    | (?<!\S) - [{_MARKS}] (?P<unwanted_phrase>[^{_MARKS}]+) [{_MARKS}]
    | (?<!\w) [{_MARKS}] (?P<phrase>[^{_MARKS}]+) [{_MARKS}]
    | (?<!\S) - (?P<unwanted_word>[^\W\d_]\S+)
    """,
    re.IGNORECASE | re.VERBOSE,
)


def parse(text: str, patterns: Sequence[Pattern]) -> Query:
    """The parsed query; an empty Query for white space.

    Raises QueryTooLong, InvalidFilter, and NothingAsked if there are only filters and exclusions.
    """
    clean = clean_text(text)
    if len(clean) > MAX_QUERY_CHARS:
        raise QueryTooLong(
            f"The query has {len(clean)} characters; the limit is {MAX_QUERY_CHARS}. "
            "Ask in fewer words, or paste only the telling part."
        )
    operators, asked = _split(clean)
    filters, unwanted = filters_of(operators)
    if clean and not asked:
        # "title:pumps" alone searches for its own value.
        asked = " ".join(filters.titles)
        if not asked:
            raise NothingAsked(
                f"“{clean}” only says where to look or what to leave out. Add the words to "
                "search for; or put all of it in quotes to search for it as it stands."
            )
    query = Query(
        text=asked,
        original=clean,
        phrases=_values(operators, "phrase"),
        excluded=_values(operators, "unwanted"),
        filters=filters,
        unwanted=unwanted,
    )
    return _with_identifiers(query, patterns)


def asked_words(text: str) -> str:
    """The words of `text` without its operators, which are not validated."""
    return _split(clean_text(text))[1]


def clean_text(text: str) -> str:
    """`text` in NFC without control characters, lone surrogates or runs of white space."""
    return clean(text.encode("utf-8", "replace").decode("utf-8"))


def _split(clean: str) -> tuple[list[Operator], str]:
    """The operators in order, and the words to search for: plain text and phrases."""
    operators: list[Operator] = []
    asked: list[str] = []
    position = 0
    for match in _OPERATOR.finditer(clean):
        operator = _operator(match)
        if operator is None:
            continue
        asked.append(clean[position : match.start()])
        position = match.end()
        operators.append(operator)
        if operator.name == "phrase":
            asked.append(f" {operator.value} ")
        elif match["bare"] or match["unwanted_word"]:
            asked.append(" ")
    asked.append(clean[position:])
    return operators, " ".join("".join(asked).split())


def _operator(match: re.Match[str]) -> Operator | None:
    """The operator of a match; None if its value has no letter or digit."""
    key, comparison = match["key"] or "", match["comparison"] or ":"
    if match["field"] or key:
        quoted, bare = match["quoted"], match["bare"]
        value = quoted.strip() if quoted else bare.rstrip(_ENDS)
        name, negated = (match["field"] or METADATA).lower(), bool(match["minus"])
    elif match["phrase"]:
        name, value, negated = "phrase", match["phrase"].strip(), False
    else:
        word = match["unwanted_word"]
        value = word.rstrip(_ENDS) if word else match["unwanted_phrase"].strip()
        name, negated = "unwanted", True
        if len(value) == 1 and value.isascii():
            return None
    if not any(map(str.isalnum, value)):
        return None
    return Operator(name, value, negated, match.group(), key, comparison)


def _values(operators: Sequence[Operator], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.value for one in operators if one.name == name))


def _with_identifiers(query: Query, patterns: Sequence[Pattern]) -> Query:
    found = naming.meant(query.text, query_identifiers(query.text, patterns))
    return replace(
        query,
        identifiers=tuple(
            QueryIdentifier(match.text, match.kind, index_forms(match), match.loose)
            for match in found
        ),
        is_identifier=len(found) == 1 and found[0].text == query.text.strip(QUOTES),
        asks_for_identifiers=naming.asks_for(query.text, found),
        needs_no_embedding=is_single_identifier(query.text, patterns),
    )
