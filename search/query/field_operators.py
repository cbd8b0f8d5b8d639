"""The field:value operators of a query -> its filters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from ingestion.files.filetypes import SUPPORTED, main_extensions
from ingestion.lexical.languages import primary_code
from ingestion.metadata import KEY, TAGS, clean
from search.domain import Comparison, MetadataFilter, QueryFilters
from search.errors import InvalidFilter

# `language` before `lang`: the names are tried in this order.
FIELDS = ("title", "collection", "type", "tag", "language", "lang", "before", "after")
METADATA = "meta"
# In a query a colon may precede a comparison, as in some search engines.
METADATA_FIELD = rf"(?a:{METADATA}\.(?P<key>{KEY})(?P<comparison>:?[<>]=?|:))"
_CONDITION = re.compile(rf"(?a:(?P<key>{KEY})(?P<comparison>[<>]=?|:))(?P<value>.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a query; `written`: its source.

    `name`: a field's, or one of `query.parse` for phrases and exclusions.

    `key` and `comparison` belong to the field `meta`.
    """

    name: str
    value: str
    negated: bool
    written: str
    key: str = ""
    comparison: str = ":"


def filters_of(operators: Sequence[Operator]) -> tuple[QueryFilters, QueryFilters]:
    """The filters of the field operators, and their exclusions. Raises InvalidFilter."""
    fields = [one for one in operators if one.name in (*FIELDS, METADATA)]
    filters = _filters([one for one in fields if not one.negated])
    if filters.after and filters.before and filters.after > filters.before:
        raise InvalidFilter(
            "after:%(after)s is later than before:%(before)s. Swap the two dates.",
            after=filters.after,
            before=filters.before,
        )
    return filters, _filters([one for one in fields if one.negated])


def _filters(operators: Sequence[Operator]) -> QueryFilters:
    def values(*names: str) -> list[Operator]:
        return [one for one in operators if one.name in names]

    return QueryFilters(
        titles=tuple(dict.fromkeys(one.value for one in values("title"))),
        collections=tuple(dict.fromkeys(one.value for one in values("collection"))),
        media_types=tuple(dict.fromkeys(t for one in values("type") for t in _media_types(one))),
        languages=tuple(dict.fromkeys(_language(one) for one in values("language", "lang"))),
        after=max((_day(one) for one in values("after")), default=None),
        before=min((_day(one) for one in values("before")), default=None),
        metadata=tuple(dict.fromkeys(_condition(one) for one in values(METADATA, "tag"))),
    )


def metadata_filter(text: str) -> MetadataFilter:
    """The condition of a text such as `KEY:value` or `KEY>=value`. Raises InvalidFilter."""
    match = _CONDITION.fullmatch(clean(text))
    if match is None:
        raise InvalidFilter(
            "“%(text)s” is not a condition on metadata. Write a key and a value, such as "
            "department:Sales or year>=2024.",
            text=text[:60],
        )
    key, comparison, value = match["key"], match["comparison"], match["value"].strip()
    return _condition(Operator(METADATA, value, False, match.group(), key, comparison))


def _condition(operator: Operator) -> MetadataFilter:
    if operator.name == "tag":
        return MetadataFilter(TAGS, operator.value)
    comparison = operator.comparison.lstrip(":") or ":"
    try:
        return MetadataFilter(operator.key.lower(), operator.value, Comparison(comparison))
    except ValueError as error:
        raise InvalidFilter(
            "“%(written)s” must compare with a number or a date. Write it like meta.year>=2024 or "
            "meta.due<2026-01-31. To search for the words themselves, put them in quotes.",
            written=operator.written,
        ) from error


def _media_types(operator: Operator) -> tuple[str, ...]:
    """The media types for an extension (pdf), a media type, or a label's first words (word)."""
    value = operator.value.casefold()
    if supported := SUPPORTED.get(f".{value.removeprefix('.')}"):
        return (supported.media_type,)
    media_types = {
        kind.media_type: None
        for kind in SUPPORTED.values()
        if value == kind.media_type or f"{kind.label.casefold()} ".startswith(f"{value} ")
    }
    if not media_types:
        raise InvalidFilter(
            "“%(written)s”: unknown type. Use one of: %(names)s, or one of source code (py, js). "
            "To search for the words themselves, put them in quotes.",
            written=operator.written,
            names=", ".join(main_extensions()),
        )
    return tuple(media_types)


def _language(operator: Operator) -> str:
    code = primary_code(operator.value)
    if not (code.isascii() and code.isalpha()):
        raise InvalidFilter(
            "“%(written)s” is not a language. Write its two-letter code, as in lang:en or lang:de. "
            "To search for the words themselves, put them in quotes.",
            written=operator.written,
        )
    return code


def _day(operator: Operator) -> date:
    name = operator.name
    if operator.negated:
        other = {"before": "after", "after": "before"}[name]
        raise InvalidFilter(
            "“%(written)s”: a date cannot be excluded. Use %(other)s: with a date instead.",
            written=operator.written,
            other=other,
        )
    try:
        return date.fromisoformat(operator.value)
    except ValueError as error:
        raise InvalidFilter(
            "“%(written)s” is not a date. Write it like %(name)s:2026-01-31. "
            "To search for the words themselves, put them in quotes.",
            written=operator.written,
            name=name,
        ) from error
