"""The SQL that fetches pins, identifiers (ADR 2) and boosts; `search.ranking` ranks by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import BooleanField, F, FloatField, Q, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.lexical.languages_and_word_parts import units
from ingestion.models import Chunk
from search.domain import MAX_HOLDERS, Boost, Pinned, Profile, Query
from search.ranking.text_boosts import MAX_ANCHORS, WISHED, anchors, boost_key
from search.retrieval.phrases import literal_pattern, literally
from search.signals.query_terms import bm25

ANYTHING = ("",)  # the patterns of a boost without one
_WISHED = boost_key(WISHED)  # its name in a retrieval
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


def counts(boosts: Sequence[Boost], query: Query) -> tuple[dict[str, str], dict[str, Any]]:
    """An expression over chunk `c` by name of each boost that can match, and their parameters.

    Each counts the boost's patterns that match the chunk's text.
    """
    expressions: dict[str, str] = {}
    params: dict[str, Any] = {}
    for place, boost in enumerate(boosts):
        regexes = wishes(query) if boost.name == _WISHED else patterns(boost, query.original)
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


def wishes(query: Query) -> tuple[str, ...]:
    """The Postgres regular expressions of the phrases that the query wishes for.

    Only of two words or more: a single word is one of the keywords, rare or common.
    """
    several = (each for each in query.wished if len(each.split()) > 1 or len(units(each)) > 1)
    return tuple(f"(?i){literal_pattern(each)}" for each in several)[:MAX_ANCHORS]


def patterns(boost: Boost, text: str) -> tuple[str, ...]:
    """The Postgres regular expressions of a boost for a query, one per anchor.

    Empty: nothing can match; ANYTHING: every chunk of the boost's kinds does.
    """
    if not boost.anchor:
        return (boost.pattern,)
    template = boost.pattern or "{anchor}"
    return tuple(template.replace("{anchor}", literally(each)) for each in anchors(boost, text))


# The place of a candidate's document among the pins, from 0. If a document is pinned by one of
# its passages, only that passage has a place, so that it is the one shown.
PLACE = """CASE WHEN coalesce((%(pinned_edits)s::bigint[])[
        array_position(%(pinned)s::bigint[], c.document_id)], 0) IN (0, c.edit_id)
    THEN array_position(%(pinned)s::bigint[], c.document_id) - 1 END"""


def pin_params(pins: Sequence[Pinned]) -> dict[str, list[int]]:
    """The parameters of PLACE. The id 0 means no edit."""
    return {
        "pinned": [pin.document_id for pin in pins],
        "pinned_edits": [pin.edit_id or 0 for pin in pins],
    }


def pinned_chunks(chunks: QuerySet[Chunk], pins: Sequence[Pinned]) -> QuerySet[Chunk, Any]:
    """The pinned passages, and of each pinned document the chunk with the highest BM25.

    If several chunks have the highest, the first one.
    """
    score = RawSQL(bm25("ingestion_chunk"), (), output_field=FloatField())
    documents = [pin.document_id for pin in pins if pin.edit_id is None]
    edits = [pin.edit_id for pin in pins if pin.edit_id is not None]
    pinned = chunks.filter(Q(document_id__in=documents) | Q(edit_id__in=edits))
    ordered = pinned.order_by("document_id", score.desc(nulls_last=True), "pk")
    return ordered.distinct("document_id").values("pk")


# Common table: the query's forms, without common words.
IDENTIFIER_TABLES = """
asked AS MATERIALIZED (
    SELECT form, strength
    FROM unnest(%(forms)s::text[], %(form_strengths)s::float8[]) given(form, strength)
    WHERE %(alone)s OR (
        SELECT count(*) FROM (
            SELECT 1 FROM ingestion_identifier i JOIN ingestion_chunk c ON c.id = i.chunk_id
            WHERE i.form = given.form AND c.searchable
              AND c.collection_id IN (SELECT id FROM readable)
            LIMIT %(max_holders)s + 1
        ) held
    ) <= %(max_holders)s
),
"""

# One of the two sides must be a full form: `2024-0042` finds `INC-2024-0042`, but PII-2024-0042,
# which shares only its tail, does not.
IDENTIFIER_MATCH = """
LEFT JOIN LATERAL (
    SELECT i.form, i.strength * asked.strength AS strength, i.place
    FROM ingestion_identifier i JOIN asked USING (form)
    WHERE i.chunk_id = c.id AND (i.strength = 1 OR asked.strength = 1)
    ORDER BY 2 DESC, i.place, i.form
    LIMIT 1
) held ON true
"""

# An array, which Postgres evaluates once: for a join it has no size estimate, and reads the table.
_HOLDING = """
ingestion_identifier.form = ANY(ARRAY(SELECT form FROM asked))
AND (ingestion_identifier.strength = 1
     OR ingestion_identifier.form IN (SELECT form FROM asked WHERE strength = 1))
"""


def forms_of(query: Query) -> dict[str, float]:
    """The forms of the query's identifiers in their order, with their best strengths."""
    forms: dict[str, float] = {}
    for identifier in query.identifiers:
        for form, strength in identifier.forms:
            forms[form] = max(strength, forms.get(form, 0.0))
    return forms


def identifier_params(query: Query) -> dict[str, Any]:
    """The parameters of the common table: the query's identifier forms, with best strengths."""
    forms = forms_of(query)
    return {
        "forms": list(forms),
        "form_strengths": list(forms.values()),
        "alone": query.is_identifier,
        "max_holders": MAX_HOLDERS,
    }


def holders(chunks: QuerySet[Chunk], profile: Profile) -> QuerySet[Chunk, Any]:
    """Chunks that contain a form of the query: full forms first, then by place, then by BM25."""
    score = RawSQL(bm25("ingestion_chunk"), (), FloatField())
    # The plain condition joins the identifiers' table, which _HOLDING reads.
    holding = chunks.filter(
        RawSQL(_HOLDING, (), output_field=BooleanField()), identifiers__strength__gt=0
    )
    order = (F("identifiers__strength").desc(), "identifiers__place", score.desc(nulls_last=True))
    return holding.order_by(*order, "pk").values("pk")[: max(profile.depth, MAX_HOLDERS)]
