"""`manage.py evaluate --gate`: planted changes that it must refuse, and some that it must not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion import services
from ingestion.documents import processing_steps
from ingestion.embedding.query_cache import CachedQueryEmbedder
from ingestion.lexical import bm25_weights
from ingestion.models import Collection, Document
from search.models import Hide, Pin, Synonym
from search.tuning import publications
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import KEYWORDS_ONLY, TITLE_ONLY, draft_with

DOCUMENTS = {
    "ferry": """# Crossing the river
The ferry crosses twice an hour, and never in fog. Bicycles travel free of charge.
# Fares of the boat
A single ticket costs three coins; children below six pay nothing.""",
    "bakery": """# Why a loaf rises
Yeast makes the dough grow for two hours; a cold kitchen doubles the time.
# Cleaning the oven
Brush the stones each Friday, when they have cooled for a night.""",
    "tides": """# Tides
High water comes twice a day, and each day almost an hour later than before.
# Storm surges
The siren sounds three times if the sea will pass the mark of five metres.""",
    "mine": """# 30 CFR 75.1725 Machinery
Mobile equipment that is unsafe shall be removed from service at once.
# 30 CFR 75.1100 Fire protection
Each group of rooms shall have suitable devices against flames.""",
    "cave": """# Region D40
A dry gallery with a sandy floor, reached by a rope of forty metres.
# Region D41
A lake fills this hall; nobody has measured its depth.""",
    "leave": """# Holidays of staff
Annual leave is requested four weeks ahead, in writing, from the head of the department.
# Illness
Whoever is ill telephones before nine and brings a doctor's note on the third day.""",
}
# Forty words each: a passage each in chunks of 64 tokens, or all of them in one.
DAYS = {
    "Monday": "the flag was torn by the gale and a new one was ordered from the town",
    "Tuesday": "the stove smoked until somebody took a nest of jackdaws out of the pipe",
    "Wednesday": "the fence along the cliff lost two posts, which lie on the beach below",
    "Thursday": "the gauge showed four metres at noon and the cellar stayed dry this time",
}
LOG = "# Log\n" + "".join(
    f"### {day}\n\nThe keeper wrote: {text}. " + f"{text}. " * 2 + "\n\n"
    for day, text in DAYS.items()
)
OTHERS = {
    "choir": """# Rehearsals
The singers meet on Tuesdays at eight in the old chapel behind the market.
# Concerts
Tickets for the winter concert are sold from November.""",
    "bees": """# Swarms
A colony swarms in May when the queen is old and the hive is full.
# Honey
It is taken after the lime trees have flowered, and never in rain.""",
}
GATE: dict[str, Any] = {
    "at_least": {"unanswerable": 1, "nDCG@10": {"mean": 0.9, "low": 0.8}},
    "questions": [
        {"question": "how often does the boat cross", "first": "ferry.md"},
        {"question": "cost of a passage for a family", "grades": {"ferry.md": 3}},
        {"question": "bread does not get bigger", "first": "bakery"},
        {"question": "when is the sea at its highest", "grades": {"Tides": 3}},
        {"question": "warning of a flood", "grades": {"tides.md#Storm surges": 3}},
        {"question": "75.1725", "grades": {"mine#30 CFR 75.1725 Machinery": 3}},
        {"question": "D40", "grades": {"cave.md#Region D40": 3}},
        {"question": "I want a vacation", "first": "leave.md"},
        {"question": "what did the keeper write", "grades": {f"log.md#{day}": 2 for day in DAYS}},
        {"question": "where does the choir sing", "grades": {"choir.md": 3}},
        {"question": "why do insects move out", "first": "bees.md"},
        {"question": "which rocket flew to Jupiter in 1973", "unanswerable": True},
        {"question": "compile a kernel module for Linux", "unanswerable": True},
    ],
}


@pytest.fixture(scope="module")
def gate(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The file, and beside it `before.json`: the report of a run on the documents, unchanged."""
    path = tmp_path_factory.mktemp("gate") / "golden.yml"
    path.write_text(json.dumps(GATE))  # which is YAML
    with lasting(django_db_blocker):
        fill()
        said = run("--gate", path, "--json", path.with_name("before.json"))
        assert "The gate passes, on 13 questions." in said
        yield path


def fill() -> None:
    for shelf, texts in (("Village", DOCUMENTS | {"log": LOG}), ("Clubs", OTHERS)):
        collection = make_collection(shelf, chunk_tokens=64, overlap_tokens=0)
        for name, text in texts.items():
            make_document(collection, text, file_name=f"{name}.md")


def run(*arguments: object) -> str:
    out = StringIO()
    call_command("evaluate", *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def refusal(*arguments: object) -> CommandError:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return error.value


def run_refused(*arguments: object) -> str:
    """What a refused run prints."""
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("evaluate", *map(str, arguments), stdout=out)
    return out.getvalue()


def document(name: str) -> Document:
    return Document.objects.undeleted().get(current__file_name=f"{name}.md")


def publish(weights: dict[str, float] | None = None, **fields: object) -> None:
    publications.publish(draft_with(weights, **fields), acting_user=None)


def processed(*names: str, **options: int) -> None:
    """Read documents again under other options of their collections."""
    Collection.objects.update(**options)
    documents = list(map(document, names))
    services.reprocess(documents, acting_user=None)
    for each in documents:
        each.refresh_from_db()
        assert each.latest_id is not None
        processing_steps.advance(each.latest_id)
    bm25_weights.fold()


def replaced(name: str, text: str) -> None:
    services.purge([document(name)])
    make_document(Collection.objects.get(name="Village"), text, file_name=f"{name}.md")


def other_model(patch: pytest.MonkeyPatch) -> None:
    """Questions embedded by another model than the passages: vectors that mean something else."""
    embed = CachedQueryEmbedder.embed_query
    patch.setattr(
        CachedQueryEmbedder,
        "embed_query",
        lambda self, text, **rest: embed(self, text, **rest)[::-1],
    )


Change = Callable[[pytest.MonkeyPatch], object]
BAD: dict[str, Change] = {
    "words alone": lambda _: publish(KEYWORDS_ONLY),
    "titles alone": lambda _: publish(TITLE_ONLY),
    "chunk size": lambda _: processed("log", chunk_tokens=2000),
    "lost collection": lambda _: services.delete_collection(
        Collection.objects.get(name="Clubs"), acting_user=None
    ),
    "lost document": lambda _: services.delete([document("tides")], acting_user=None),
    "another model": other_model,
    "hidden answer": lambda _: Hide.objects.create(document=document("leave")),
    "wrong pin": lambda _: Pin.objects.create(query="I want a vacation", document=document("mine")),
    "no threshold": lambda _: publish(confidence_threshold=0),
    "lost text": lambda _: replaced("bakery", "# Bakery\nThis page has moved.\n"),
}
NEUTRAL: dict[str, Change] = {
    "nothing": lambda _: None,
    "weights a little": lambda _: publish({"vector": 0.66, "keyword": 0.29, "title": 0.05}),
    "more candidates": lambda _: publish(depth=120),
    "chunk size a little": lambda _: processed("log", chunk_tokens=72),
    "read again": lambda _: processed("mine"),
    "another document": lambda _: make_document(
        make_collection("Garden"), "# Roses\nCut them in March above an outer bud."
    ),
    "pin of another question": lambda _: Pin.objects.create(
        query="opening hours", document=document("mine")
    ),
    "hide of another question": lambda _: Hide.objects.create(
        query="opening hours", document=document("leave")
    ),
    "synonyms of other words": lambda _: Synonym.objects.create(terms=["rose", "briar"]),
    "renamed collection": lambda _: Collection.objects.filter(name="Clubs").update(
        name="Societies"
    ),
}


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache")
@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_planted_change_is_refused_with_the_questions_lost(
    change: Change, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch)
    error = refusal("--gate", gate, "--against", gate.with_name("before.json"))
    assert error.returncode == 1
    assert "The gate refuses. Questions lost: “" in str(error)


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache")
@pytest.mark.parametrize("change", NEUTRAL.values(), ids=NEUTRAL)
def test_neutral_change_passes(change: Change, gate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch)
    assert "REFUSED" not in run("--gate", gate, "--against", gate.with_name("before.json"))


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache")
class TestReports:
    def test_reports_name_what_was_lost_and_every_question(
        self, gate: Path, tmp_path: Path
    ) -> None:
        data = tmp_path / "report.json"
        services.delete([document("tides")], acting_user=None)
        refusal("--gate", gate, "--json", data)
        said = json.loads(data.read_text())
        lost = ["when is the sea at its highest", "warning of a flood"]
        assert (said["passed"], sorted(said["lost"])) == (False, sorted(lost))
        assert said["values"][lost[0]]["nDCG@10"] == 0
        assert said["values"]["D40"]["nDCG@10"] == 1
        assert {question["question"] for question in GATE["questions"]} == said["values"].keys()

    def test_a_profile_is_held_against_an_earlier_run_of_another(self, gate: Path) -> None:
        before = gate.with_name("before.json")
        error = refusal("--gate", gate, "--against", before, "--profile", "keyword-only")
        assert "Questions lost" in str(error)

    def test_latency_is_a_condition(self, gate: Path, tmp_path: Path) -> None:
        path = tmp_path / "fast.yml"
        path.write_text(json.dumps({"p95_ms": 0.001, "questions": GATE["questions"][:2]}))
        assert "0.001 ms is the most" in run_refused("--gate", path)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--profile", "nobody"], "nobody"),
            (["--against", "/nowhere.json"], "is no report of a gate"),
        ],
    )
    def test_what_cannot_be_measured_is_no_refusal(
        self, gate: Path, arguments: list[str], said: str
    ) -> None:
        error = refusal("--gate", gate, *arguments)
        assert (error.returncode, said in str(error)) == (2, True)

    def test_options_of_the_gate_need_it(self) -> None:
        assert "are required: --gate" in str(refusal("--json", "report.json"))
