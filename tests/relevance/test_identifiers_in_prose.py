"""How many judged queries are lookups of an identifier, or put its holders first (ADR 2).

The queries are natural questions, claims and posts; nearly none asks for an identifier.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import QueryClass
from search.query import classify, parse
from search.query.rules import RULES
from search.ranking import identifiers_lead

COLLECTIONS = Path(__file__).parents[3] / "shared" / "relevance"
BY_IDENTIFIER = {"a single identifier", "names an identifier"}


# At most so many lookups and tiers: what the rule of 2026-11-22 leaves, each of them read by hand.
@pytest.mark.parametrize(
    ("name", "most_lookups", "most_tiers"),
    [
        ("checkthat2020_claims", 0, 4),
        ("wikiqa_test", 0, 0),
        ("dbpedia_entity_50", 0, 0),
        ("scifact", 1, 2),
        ("nfcorpus", 1, 1),
        ("mtrag_cloud", 2, 4),
    ],
)
def test_a_mentioned_identifier_is_not_asked_for(
    name: str, most_lookups: int, most_tiers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    file = COLLECTIONS / name / "queries.jsonl"
    if not file.is_file():
        assert "CI" not in os.environ, f"The judged queries are missing: {file}"
        pytest.skip(f"needs the judged queries in {file}")
    texts = [json.loads(line)["text"][:500] for line in file.read_text().splitlines()]
    queries = [parse(text, DEFAULT_PATTERNS) for text in texts]
    classes = [classify(query, RULES) for query in queries]
    lookups = sum(
        found.query_class is QueryClass.LOOKUP and found.rule in BY_IDENTIFIER for found in classes
    )
    tiers = sum(identifiers_lead(query) for query in queries)
    with capsys.disabled():
        print(f"\n{name}: of {len(queries)} queries {lookups} lookups, {tiers} with a tier")
    assert lookups <= most_lookups
    assert tiers <= most_tiers
