"""The profiles that ship, as data, and the rules and patterns that ship with them.

`textbook` and `concept-rag` restate two seed systems: a textbook chatbot's fixed 70/30 over
cosine and BM25 / its maximum, and concept-rag's .4/.3/.3 over unscaled scores with 10 for a
title match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from ingestion.identifiers import DEFAULT_PATTERNS
from ingestion.models import IdentifierPattern
from search.domain import QueryClass
from search.models import ClassRule, ClassWeights, SearchProfile
from search.query.classify import IDENTIFIER_PREDICATE

Shares = tuple[str, str, str]
"""Vector, keyword, title: as decimals, because the database checks that they sum to 1."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A named profile. `weights` are for every class but those in `by_class`."""

    name: str
    description: str
    weights: Shares
    by_class: Mapping[QueryClass, Shares] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)

    def shares(self, query_class: QueryClass) -> Shares:
        return self.by_class.get(query_class, self.weights)


DEFAULT = Preset(
    name="default",
    description="Cosine and BM25 on one scale, a little for the title; keywords lead for "
    "look-ups, meaning leads for concepts.",
    weights=("0.60", "0.30", "0.10"),
    # Starting points from the seed systems' own classes (S4-06..10, S5-06..09), less a tenth
    # for the title; the ranking issue measures them.
    by_class={
        QueryClass.LOOKUP: ("0.30", "0.55", "0.15"),
        QueryClass.CONCEPT: ("0.65", "0.25", "0.10"),
        QueryClass.CODE: ("0.50", "0.40", "0.10"),
        QueryClass.DEBUG: ("0.50", "0.40", "0.10"),
    },
)
TEXTBOOK = Preset(
    name="textbook",
    description="The textbook chatbot's fixed mix: 70% cosine, 30% BM25 over its maximum.",
    weights=("0.70", "0.30", "0"),
    fields={"depth": 20},  # S3-35
)
CONCEPT_RAG = Preset(
    name="concept-rag",
    description="concept-rag's signals, unscaled: .4 cosine, .3 BM25, .3 title (10 for a match).",
    weights=("0.40", "0.30", "0.30"),
    fields={"keyword_normaliser": "none", "title_scorer": "once"},  # S2-08, S2-11
)
PRESETS = (DEFAULT, TEXTBOOK, CONCEPT_RAG)

# Word boundaries keep "tenant" from being "nan" and "prefix" from being "fix" (F4-02, F5-01).
# The identifier test comes first: "What is VectorStore" asks for a name (part 2, D5).
RULES: tuple[tuple[str, str, QueryClass, float], ...] = (
    ("a single identifier", IDENTIFIER_PREDICATE, QueryClass.LOOKUP, 0.95),
    (
        "compares two things",
        r"\b(vs\.?|versus|difference(s)? between|compare[ds]?|comparison|"
        r"which (one )?is (better|faster|best))\b|\bbetter than\b",
        QueryClass.COMPARISON,
        0.9,
    ),
    (
        "speaks of a failure",
        r"\b(errors?|exceptions?|traceback|fail(s|ed|ing|ure)?|crash(es|ed|ing)?|bugs?|broken|"
        r"debug(ging)?|troubleshoot(ing)?|timed? ?out|"
        r"(not|n't|doesn't|isn't|won't|can't|cannot) "
        r"(work(ing)?|start(ing)?|connect(ing)?|load(ing)?))\b",
        QueryClass.DEBUG,
        0.85,
    ),
    (
        "asks for code",
        r"\b(code|snippet|implement(s|ing|ation)?|example of|function|method|syntax|"
        r"command(s)? (to|for)|show me|how (to|do i|can i|do you) "
        r"(write|use|call|create|define|configure|implement|install|set|add|run|make|get))\b",
        QueryClass.CODE,
        0.8,
    ),
    (
        "asks what a code name is",
        r"^(what is|what's|define|find|where is) (the |an? )?"
        # Rules disregard case; here the capitals within the word are the point.
        r"(`[^`]+`|(?-i:[A-Z]+[a-z0-9]+[A-Z]\w*))\b",
        QueryClass.LOOKUP,
        0.85,
    ),
    ("asks for a definition", r"^(define|definition of|meaning of)\b", QueryClass.LOOKUP, 0.8),
    (
        "asks what or why",
        r"\b(what (is|are|does|do)|what's|how (does|do|is|are)|why|explain|describe|overview|"
        r"tell me about|concept of|introduction to)\b",
        QueryClass.CONCEPT,
        0.8,
    ),
)


@transaction.atomic
def install() -> None:
    """Installs what is missing of the shipped profiles, rules and patterns; changes nothing else.

    The default becomes active only where no profile is.
    """
    for preset in PRESETS:
        _install_profile(preset)
    for position, (name, pattern, query_class, confidence) in enumerate(RULES, start=1):
        ClassRule.objects.get_or_create(
            name=name,
            defaults={
                "position": position * 10,
                "pattern": pattern,
                "query_class": query_class,
                "confidence": confidence,
            },
        )
    for position, shipped in enumerate(DEFAULT_PATTERNS, start=1):
        IdentifierPattern.objects.get_or_create(
            name=shipped.name,
            defaults={
                "regex": shipped.regex,
                "normaliser": shipped.normaliser,
                "examples": list(shipped.examples),
                "counter_examples": list(shipped.counter_examples),
                "position": position * 10,
            },
        )
    if not SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).exists():
        default = SearchProfile.objects.get(name=DEFAULT.name, version=1)
        default.state = SearchProfile.State.ACTIVE
        default.save(update_fields=["state"])


def _install_profile(preset: Preset) -> None:
    profile, created = SearchProfile.objects.get_or_create(
        name=preset.name,
        version=1,
        defaults={
            "description": preset.description,
            "state": SearchProfile.State.RETIRED,
            "published": timezone.now(),
            **preset.fields,
        },
    )
    if not created:
        return
    ClassWeights.objects.bulk_create(
        ClassWeights(
            profile=profile,
            query_class=query_class,
            **dict(
                zip(
                    ("vector", "keyword", "title"),
                    map(Decimal, preset.shares(query_class)),
                    strict=True,
                )
            ),
        )
        for query_class in QueryClass
    )
