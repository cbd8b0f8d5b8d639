"""The SQL of boosts: the counts of their patterns in each candidate's section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from search.domain import Boost
from search.ranking.text_boosts import anchors
from search.retrieval.phrases import literally

ANYTHING = ("",)  # the patterns of a boost without one
# A short passage without a heading is the rest of a running text, and a document that is one short
# passage is whole: neither says little of what a longer one explains. The length comes from a join,
# because each reading of a text fetches and decompresses it.
SECTION_READ = "section.chars"
SECTION = """
CROSS JOIN LATERAL (
    SELECT CASE WHEN cardinality(c.heading_path) > 0 AND
                     (SELECT v.chunk_count > 1 FROM ingestion_documentversion v
                      WHERE v.id = c.version_id)
                THEN c."end" - c.start END AS chars OFFSET 0
) section
"""
_SHORT = "CASE WHEN section.chars < {most} THEN {count} ELSE 0 END"


def counts(boosts: Sequence[Boost], text: str) -> tuple[dict[str, str], dict[str, Any]]:
    """An expression over chunk `c` by name of each boost that can match, and their parameters.

    Each counts the boost's patterns that match the chunk's text.
    """
    expressions: dict[str, str] = {}
    params: dict[str, Any] = {}
    for place, boost in enumerate(boosts):
        regexes = patterns(boost, text)
        if not regexes:
            continue
        if boost.shorter_than and regexes == ANYTHING and not boost.kinds:
            # Constants of the profile are written into the text, so that no search sends them.
            expressions[boost.name] = _SHORT.format(most=int(boost.shorter_than), count="1")
            continue
        params[f"boost_{place}"] = list(regexes)
        params[f"boost_kinds_{place}"] = list(boost.kinds)
        kinds = f"c.kind = ANY(%(boost_kinds_{place})s::text[]) AND " if boost.kinds else ""
        count = (
            f"(SELECT count(*) FROM unnest(%(boost_{place})s::text[]) p WHERE {kinds}c.text ~ p)"
        )
        if boost.shorter_than:
            count = _SHORT.format(most=int(boost.shorter_than), count=count)
        expressions[boost.name] = count
    return expressions, params


def patterns(boost: Boost, text: str) -> tuple[str, ...]:
    """The Postgres regular expressions of a boost for a query, one per anchor.

    Empty: nothing can match; ANYTHING: every chunk of the boost's kinds does.
    """
    if not boost.anchor:
        return (boost.pattern,)
    template = boost.pattern or "{anchor}"
    return tuple(template.replace("{anchor}", literally(each)) for each in anchors(boost, text))
