"""S5-41: the shipped rules are right for more than 90% of labelled queries.

The queries are of a help desk, of developers, of regulations; in our own words. What the labels
mean. lookup: names one thing and wants that thing (an identifier, a proper name,
an acronym, "define X", a place). concept: what it is, how it works, why. code: how to write or
configure it. debug: something fails. comparison: two or more against each other. general: the
rest: topics without a question word, procedures of an office, yes-or-no questions, lists.

A third is set aside by a hash of its text: the rules were written without looking at what they
do to it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import Query, QueryClass
from search.presets.default import DEFAULT
from search.query import classify, parse
from search.query.shipped_classifier_rules import RULES
from search.ranking import identifiers_lead

FLOOR = 0.9

LABELLED: dict[str, tuple[str, ...]] = {
    "lookup": (
        "D40", "PII-2024-0042", "30 CFR 75.1725", "MSHA 30 CFR 75", "Aboleth", "SLAM", "EKF",
        "VectorStore", "What is VectorStore", "what is rclcpp::Node?", "CONN_MAX_AGE",
        "select_related()", "RFC 7231", "ISO 9001 clause 8.5", "Explain regulation 75.1725",
        "Tell me about Room D40", "tell me about INC-2024-0042", "Define SLAM",
        "define idempotency", "definition of force majeure", "meaning of TTL", "§ 823 BGB",
        "where is settings.py", "find form W-9", "A-1312/B", "section 75.380(d)", "OSHA 1910.147",
        "what does MTTR stand for", "GDPR", "JSONField", "invoice INV-20931", "show ticket HD-4471",
        "what is the phone number of the help desk", "KB5034441", "Dijkstra", "10.0.3.17",
        "who is the data protection officer", "what is useEffect", "article 6.1 GDPR",
        "where is the cafeteria menu", "default value of max_connections", "Kubernetes",
    ),
    "concept": (
        "How does hybrid search work", "What are the safety requirements?",
        "Tell me about fire hazards", "how does sensor fusion work?", "what is localization",
        "how does a robot know where it is?", "what is forward kinematics", "explain FK",
        "Explain SLAM algorithms", "Tell me about robot perception", "What is Python",
        "What is publish-subscribe pattern?", "why do we rotate encryption keys",
        "How does error handling work", "why is the database normalised",
        "what is the purpose of a load balancer", "explain eventual consistency",
        "how do transactions isolate each other", "what does ventilation in a mine do",
        "describe the approval process for travel", "overview of the onboarding process",
        "introduction to kubernetes networking", "what is a prefix tree", "what is a tenant",
        "how are permits classified", "why must workers wear respirators",
        "explain the idea behind dependency injection", "what is meant by least privilege",
        "how does garbage collection decide what to free", "what are the duties of an employer",
        "concept of liability in contract law", "what happens when a lease expires",
        "what is a subclass", "how is overtime calculated", "tell me about the canvas API",
        "principles of zero trust", "what's the point of code review",
        "why do caches expire entries", "how does the exception hierarchy work",
    ),
    "code": (
        "implement a retry loop", "Show me ROS2 navigation code", "example of a celery task",
        "how to write a custom migration", "how do I define a foreign key in Django",
        "code for parsing csv files", "python snippet to read a yaml file",
        "write a SQL query that finds duplicates", "how to call the REST API from Python",
        "sample code for action server", "Show me a ROS2 publisher example",
        "how to configure nginx as a reverse proxy", "syntax of a list comprehension",
        "create an index concurrently in postgres", "how can I mock a function in pytest",
        "regex to match an email address", "docker command to list running containers",
        "implementing a binary search in C++", "how do you override save() in a model",
        "bash script that rotates logs", "curl example with a bearer token",
        "usage of select_related", "how to import a module from a parent directory",
        "write a unit test for a view", "how to sort a dictionary by value",
        "generate a UUID in JavaScript", "how to use useEffect with async functions",
        "add a column with alembic", "git command to undo the last commit",
        "dockerfile for a django app", "parse a JSON string in Go",
        "how do I connect to postgres with psycopg", "config for log rotation in systemd",
        "how to set an environment variable in bash", "loop over a hash map in rust",
        "Implement a service client", "Write a launch file",
    ),
    "debug": (
        "error in the vector store", "my pump is not working", "ImportError: No module named yaml",
        "the printer won't print", "How to fix node not found error?", "My robot won't move",
        "Can't connect to Gazebo", "vpn keeps disconnecting", "ORA-00942 when running the report",
        "build fails with exit code 137", "server returns 502 bad gateway",
        "why does my query time out", "outlook crashes when I open an attachment",
        "I can't log in after the password change", "celery worker stuck at startup",
        "permission denied when writing to /var/log", "traceback in the migration",
        "migrations do not apply", "conveyor belt stops unexpectedly", "laptop does not charge",
        "login page shows a blank screen", "segmentation fault in libpq",
        "troubleshoot slow queries", "problem with the badge reader", "issue with single sign-on",
        "why is my index not used", "emails are not delivered", "connection refused on port 5432",
        "debugging a deadlock", "the app freezes on startup", "unable to mount the network drive",
        "TypeError: 'NoneType' object is not iterable", "projector has no signal",
        "pip install hangs forever", "broken link on the intranet", "disk is full and jobs fail",
        "wifi drops every few minutes", "what causes a stack overflow error",
        "static files missing after deploy",
    ),
    "comparison": (
        "difference between EKF and UKF", "What's the difference between EKF and UKF?",
        "celery vs rq", "ROS1 vs ROS2", "Which is better: URDF or SDF?",
        "Compare forward and inverse kinematics", "When to use actions vs services?",
        "postgres versus mysql for analytics", "is redis faster than memcached",
        "pros and cons of remote work", "advantages of docker over virtual machines",
        "should I use a list or a tuple", "compare the old and the new travel policy",
        "differences between GDPR and CCPA", "PUT or PATCH for partial updates",
        "how does a lease differ from a rental agreement", "permit or licence: which do I need",
        "REST compared to GraphQL", "which is cheaper, leasing or buying a car",
        "how is a contractor different from an employee", "tcp vs. udp",
        "comparison of respirator types", "select_related vs prefetch_related",
        "choose between kafka and rabbitmq", "HNSW versus IVFFlat recall",
        "similarities between Scrum and Kanban", "which laptop is better for developers",
        "basic plan or premium plan, what do I get more", "trade-offs between speed and accuracy",
        "what distinguishes a directive from a regulation", "is yaml better than json for config",
        "full-time and part-time contracts compared", "alternatives to elasticsearch",
        "unit tests as opposed to integration tests",
    ),
    "general": (
        "water pumps", "tenant isolation", "prefix tree", "canvas size", "subclass registry",
        "maintenance plan", "finance department", "vacation policy", "list all plugins",
        "remote work guidelines 2024", "can I carry over vacation days", "meeting room booking",
        "new employee checklist", "safety training schedule", "do I need a permit for hot work",
        "parental leave", "how do I reset my password", "how to request a new laptop",
        "who approves travel expenses", "fire extinguisher inspection", "holiday calendar",
        "is smoking allowed underground", "company car", "database migrations",
        "ventilation requirements for coal mines", "rest breaks for drivers",
        "when does the fiscal year end", "how many sick days do I get",
        "how often must fire doors be inspected", "order office supplies",
        "notice period during probation", "backup retention", "health insurance for interns",
        "robot navigation in warehouses", "expense report deadline", "battery recycling",
        "data retention rules for applicants", "which documents do I need for a visa",
        "how long are recordings kept", "sensor calibration",
    ),
}  # fmt: skip


def is_set_aside(text: str) -> bool:
    """Whether a query belongs to the third that no rule was written by."""
    return sha256(text.encode()).digest()[0] % 3 == 0


QUERIES = tuple((text, label) for label, texts in LABELLED.items() for text in texts)
SET_ASIDE = tuple((text, label) for text, label in QUERIES if is_set_aside(text))
WRITTEN_BY = tuple((text, label) for text, label in QUERIES if not is_set_aside(text))

# What the seeds' own documents say of their examples, in our classes. Where they disagree, the
# identifier test comes before the question words ("What is ROS2?" asks for a name).
OF_THE_SEEDS: tuple[tuple[str, str], ...] = (
    ("D40", "lookup"),  # S1-07
    ("Aboleth", "lookup"),
    ("30 CFR 75.1725", "lookup"),
    ("PII-2024-0042", "lookup"),
    ("What are the safety requirements?", "concept"),  # S1-08
    ("Tell me about fire hazards", "concept"),
    ("Tell me about Room D40", "lookup"),  # S1-09
    ("Explain regulation 75.1725", "lookup"),
    ("How does sensor fusion work?", "concept"),  # S3-06
    ("Define SLAM", "lookup"),
    ("What's the difference between EKF and UKF?", "comparison"),
    ("Show me ROS2 navigation code", "code"),
    ("Tell me about robot perception", "concept"),
    ("VectorStore", "lookup"),  # S4-06
    ("What is VectorStore interface", "lookup"),  # S4-04
    ("What is VectorStore interface and what methods does it have?", "lookup"),
    ("How does hybrid search work", "concept"),
    ("implement retry logic", "code"),
    ("error in parser", "debug"),
    ("where is the config", "lookup"),
    ("list all plugins", "general"),
    ("snake_case", "lookup"),
    ("CONSTANT_CASE", "lookup"),
    ("What is ROS2?", "lookup"),  # F5: conceptual there
    ("Tell me about Gazebo", "concept"),
    ("Show me a ROS2 publisher example", "code"),
    ("Implement a service client", "code"),
    ("Write a launch file", "code"),
    ("Sample code for action server", "code"),
    ("How to fix node not found error?", "debug"),
    ("My robot won't move", "debug"),
    ("Can't connect to Gazebo", "debug"),
    ("Can't launch gazebo", "debug"),
    ("ROS1 vs ROS2", "comparison"),
    ("Which is better: URDF or SDF?", "comparison"),
    ("Compare forward and inverse kinematics", "comparison"),
    ("When to use actions vs services?", "comparison"),
    ("How to create a node?", "code"),
    ("Difference between ROS1 and ROS2", "comparison"),
    ("Which is better: Gazebo or Unity?", "comparison"),
    ("How does error handling work", "concept"),  # F4-02
    ("What is Python", "concept"),
    ("What is SLAM", "concept"),
)


def class_of(text: str) -> str:
    return classify(parse(text, DEFAULT_PATTERNS), RULES).query_class.value


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        pytest.param("the rules were written by", WRITTEN_BY, id="written by"),
        pytest.param("set aside", SET_ASIDE, id="set aside"),
        pytest.param("of the seeds", OF_THE_SEEDS, id="seeds"),
    ],
)
def test_labelled_queries_get_their_class(
    name: str, queries: Sequence[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    right = [(text, label) for text, label in queries if class_of(text) == label]
    share = len(right) / len(queries)
    by_class = Counter(label for _, label in right)
    with capsys.disabled():
        print(f"\nclassifier, queries {name}: {len(right)} of {len(queries)} right, {share:.1%}")
        for label, total in Counter(label for _, label in queries).items():
            print(f"  {label}: {by_class[label]} of {total}")
    assert share > FLOOR


def test_the_labelled_queries_are_enough_and_of_every_class() -> None:
    assert len(QUERIES) == len({text.casefold() for text, _ in QUERIES}) >= 150
    assert set(LABELLED) == {query_class.value for query_class in QueryClass}
    assert min(map(len, LABELLED.values())) >= 20
    # The hash decides; it must not have left either part too small to say anything.
    assert 0.25 <= len(SET_ASIDE) / len(QUERIES) <= 0.42


@pytest.mark.parametrize("text", ["tenant", "prefix tree", "subclass", "canvas", "maintenance"])
def test_rule_words_inside_longer_words_do_not_match(text: str) -> None:
    """F4-02, F5-01."""
    for query in (text, f"{text} settings", f"the {text}"):
        assert class_of(query) in {"general", "lookup"}


# --- Judged queries: how many are lookups of an identifier (ADR 2), and have other weights -------

COLLECTIONS = Path(__file__).parents[3] / "shared" / "relevance"
BY_IDENTIFIER = {"a single identifier", "names an identifier"}


# Without them 37 of the judged queries that they matched ranked better, and 9 worse.
ASK_FOR_FACTS = {
    "describes a symptom",
    "speaks of a failure",
    "says that something does not work",
    "asks for a definition or a place",
}


def judged(name: str) -> list[Query]:
    """The parsed queries of a judged collection."""
    file = COLLECTIONS / name / "queries.jsonl"
    if not file.is_file():
        assert "CI" not in os.environ, f"The judged queries are missing: {file}"
        pytest.skip(f"needs the judged queries in {file}")
    texts = [json.loads(line)["text"][:500] for line in file.read_text().splitlines()]
    return [parse(text, DEFAULT_PATTERNS) for text in texts]


# At most so many lookups and tiers: what the rule of 2026-11-22 leaves, each of them read by hand.
@pytest.mark.parametrize(
    ("name", "most_lookups", "most_tiers"),
    [
        ("checkthat2020_claims", 0, 4), ("wikiqa_test", 0, 0), ("dbpedia_entity_50", 0, 0),
        ("scifact", 1, 2), ("nfcorpus", 1, 1), ("mtrag_cloud", 2, 4),
    ],
)  # fmt: skip
def test_query_that_mentions_an_identifier_is_not_a_lookup(
    name: str, most_lookups: int, most_tiers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = judged(name)
    classes = [classify(query, RULES) for query in queries]
    lookups = sum(
        found.query_class is QueryClass.LOOKUP and found.rule in BY_IDENTIFIER for found in classes
    )
    tiers = sum(identifiers_lead(query) for query in queries)
    with capsys.disabled():
        print(f"\n{name}: of {len(queries)} queries {lookups} lookups, {tiers} with a tier")
    assert lookups <= most_lookups
    assert tiers <= most_tiers


@pytest.mark.parametrize("name", ["wikiqa_test", "dbpedia_entity_50", "nfcorpus", "mtrag_cloud"])
def test_no_rule_moves_the_weights_where_judged_queries_rank_worse(name: str) -> None:
    weights = DEFAULT.profile.weights
    for query in judged(name):
        found = classify(query, RULES)
        if found.rule in ASK_FOR_FACTS:
            assert weights[found.query_class] == weights[QueryClass.GENERAL], query.text
