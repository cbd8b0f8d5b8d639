"""String -> Query: operators, text, identifiers.

The operators: "exact words", -word, -"exact words", field:value with a field of FIELDS; for
metadata meta.KEY:value and meta.KEY>=value (or >, <, <=). Everything else, stray quotes and
hyphens included, is plain text.

In pasted text quotes and hyphens are punctuation: there phrases are read as words, and a hyphen
excludes nothing, unless the caller insists (ADR 54).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ingestion.identifiers import Pattern, index_forms, is_single_identifier, query_identifiers
from ingestion.lexical.bigrams import CHARACTER
from ingestion.metadata import clean
from search.domain import Query, QueryIdentifier
from search.errors import EmptyQuestion, QueryTooLong
from search.query import identifier_lookups
from search.query.field_operators import FIELDS, METADATA, METADATA_FIELD, Operator, filters_of

# A limit on malice, not on readers who paste a page; the columns of questions are as long. The seed
# system Physical AI allowed 500 (S5-01).
MAX_QUERY_CHARS = 4000
# A query with more words than this outside quotes and operators is pasted text. A guess between
# typed queries with operators and pasted posts: of 250 posts, 58 had quotes or hyphens that were
# required, and 38 of those had no results.
MOST_TYPED_WORDS = 8
# Nor does anyone type so many words in all; a query all in quotes excepted. A guess.
MOST_WORDS = 20
QUOTES = " `'\"“”‘’«»?!.,"
_MARKS = '"“”„«»'
# The names of operators that are no fields: a phrase that binds or is read as words, and words that
# are excluded or whose hyphen is read as text.
PHRASE, _LOOSE, _UNWANTED, _IGNORED = "phrase", "loose phrase", "unwanted", "ignored"
_QUOTED_AWAY = tuple(f"-{mark}" for mark in _MARKS)
_ENDS = ".,;:!?)"
_SENTENCE_ENDS = (",", ".", ";", "!", "?", "…")

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

_Match = tuple[re.Match[str], Operator]


def parse(
    text: str, patterns: Sequence[Pattern], *, insist: bool = False, most: int = MAX_QUERY_CHARS
) -> Query:
    """The parsed query; an empty Query for white space.

    `insist`: every phrase and exclusion is required, in pasted text, too. `most`: the limit in
    characters. Raises QueryTooLong, InvalidFilter, and EmptyQuestion if there are only filters and
    exclusions.
    """
    clean = clean_text(text)
    if len(clean) > most:
        raise QueryTooLong(
            "The query has %(length)s characters; the limit is %(most)s. Ask in fewer words, or "
            "paste only the essential part.",
            length=len(clean),
            most=most,
        )
    operators, words = _split(clean, insist=insist)
    filters, unwanted = filters_of(operators)
    if clean and not words:
        # "title:pumps" alone searches for its own value.
        words = " ".join(filters.titles)
        if not words:
            raise EmptyQuestion(
                "“%(query)s” has only filters or exclusions. Add the words to search for, or put "
                "all of it in quotes to search for exactly this text.",
                None if any(one.negated for one in operators) else filters,
                query=clean,
            )
    query = Query(
        text=words,
        original=clean,
        phrases=_values(operators, PHRASE),
        loose_phrases=_values(operators, _LOOSE),
        excluded=_values(operators, _UNWANTED),
        excluded_exactly=_values(
            [one for one in operators if one.written.startswith(_QUOTED_AWAY)], _UNWANTED
        ),
        ignored=_values(operators, _IGNORED),
        insists=insist,
        filters=filters,
        unwanted=unwanted,
    )
    return _with_identifiers(query, patterns)


def relaxed(query: Query) -> Query:
    """The query with its phrases as words, and without its exclusions.

    Unchanged if it has neither, or if its caller insists.
    """
    if query.insists or not (query.phrases or query.excluded):
        return query
    return replace(query, phrases=(), excluded=(), excluded_exactly=(), strict=query)


def question_words(text: str) -> str:
    """The words of `text` without its operators, which are not validated."""
    return _split(clean_text(text))[1]


def without_filters(text: str) -> tuple[str, int]:
    """`text` without its field operators, such as `type:pdf`, and their number."""
    clean = clean_text(text)
    filters = [match for match in _OPERATOR.finditer(clean) if match["field"] or match["key"]]
    for match in reversed(filters):
        clean = clean[: match.start()] + clean[match.end() :]
    return " ".join(clean.split()), len(filters)


def clean_text(text: str) -> str:
    """`text` in NFC without control characters, lone surrogates or runs of white space."""
    return clean(text.encode("utf-8", "replace").decode("utf-8"))


def _split(clean: str, *, insist: bool = False) -> tuple[list[Operator], str]:
    """The operators in order, and the words to search for: plain text and phrases."""
    operators = [
        (match, operator)
        for match in _OPERATOR.finditer(clean)
        if (operator := _operator(match)) is not None
    ]
    if not insist:
        operators = _interpreted(clean, operators)
    words: list[str] = []
    position = 0
    for match, operator in operators:
        if operator.name == _IGNORED:
            continue
        words.append(clean[position : match.start()])
        position = match.end()
        if operator.name in (PHRASE, _LOOSE):
            words.append(f" {operator.value} ")
        elif match["bare"] or match["unwanted_word"]:
            words.append(" ")
    words.append(clean[position:])
    return [operator for _, operator in operators], " ".join("".join(words).split())


def _interpreted(clean: str, operators: Sequence[_Match]) -> list[_Match]:
    """The operators; those that are punctuation of a pasted text become text."""
    spans = [match.span() for match, _ in operators]
    gaps = zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), None], strict=True)
    outside = sum(count_words(clean[start:end]) for start, end in gaps)
    quoted = sum(
        count_words(operator.value) for _, operator in operators if operator.name == PHRASE
    )
    pasted = outside > MOST_TYPED_WORDS or (outside > 0 and outside + quoted > MOST_WORDS)
    return [
        (match, replace(operator, name=_final_name(operator, pasted=pasted, alone=not outside)))
        for match, operator in operators
    ]


def _final_name(operator: Operator, *, pasted: bool, alone: bool) -> str:
    """The name of the operator after interpretation; `alone`: the query has no words besides."""
    if operator.name == PHRASE:
        # A sentence's own punctuation before the closing quote: “Wait,” she said.
        in_sentence = not alone and operator.value.endswith(_SENTENCE_ENDS)
        return _LOOSE if pasted or in_sentence else PHRASE
    if operator.name == _UNWANTED:
        # A dash on both sides sets off a part of a sentence: the pump -a new one- runs.
        return _IGNORED if pasted or operator.value.endswith("-") else _UNWANTED
    return operator.name


def count_words(text: str) -> int:
    """The number of words; of scripts without spaces, half as many as letters."""
    spaced = sum(any(map(str.isalnum, word)) for word in text.split())
    return spaced + sum(1 for _ in CHARACTER.finditer(text)) // 2


def _operator(match: re.Match[str]) -> Operator | None:
    """The operator of a match; None for plain text, such as a value without a letter or digit."""
    key, comparison = match["key"] or "", match["comparison"] or ":"
    if match["field"] or key:
        quoted, bare = match["quoted"], match["bare"]
        value = quoted.strip() if quoted else bare.rstrip(_ENDS)
        name, negated = (match["field"] or METADATA).lower(), bool(match["minus"])
    elif match["phrase"]:
        name, value, negated = PHRASE, match["phrase"].strip(), False
        opens_another = match["phrase"][-1].isspace() and match.string[match.end() :][:1].isalnum()
        if opens_another:  # the "90s and the "00s
            return None
    else:
        word = match["unwanted_word"]
        value = word.rstrip(_ENDS) if word else match["unwanted_phrase"].strip()
        name, negated = _UNWANTED, True
        if len(value) == 1 and value.isascii():
            return None
    if not any(map(str.isalnum, value)):
        return None
    return Operator(name, value, negated, match.group(), key, comparison)


def _values(operators: Sequence[Operator], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.value for one in operators if one.name == name))


def _with_identifiers(query: Query, patterns: Sequence[Pattern]) -> Query:
    identifiers = identifier_lookups.outside_urls(
        query.text, query_identifiers(query.text, patterns)
    )
    return replace(
        query,
        identifiers=tuple(
            QueryIdentifier(match.text, match.kind, index_forms(match), match.loose)
            for match in identifiers
        ),
        is_identifier=len(identifiers) == 1 and identifiers[0].text == query.text.strip(QUOTES),
        asks_for_identifiers=identifier_lookups.asks_for(query.text, identifiers),
        needs_no_embedding=bool(identifiers) and is_single_identifier(query.text, patterns),
    )
