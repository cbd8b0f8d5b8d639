"""`benchmarks.judged` and `benchmarks.answers`: from a judged collection to figures."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import AnonymousUser

from benchmarks import irds
from benchmarks.answers.__main__ import measured
from benchmarks.judged.command import run
from common import UserError
from common.accounts.models import User
from ingestion.models import Collection, Document, DocumentVersion
from search.answers.models import Answer
from search.pipeline import search
from search.retrieval import Filters
from search.tuning.models import EvaluationRun

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_worker")]

CORPUS = [
    {"_id": "d1", "title": "Steelyard", "text": "A balance whose weight slides along a beam."},
    {"_id": "d2", "title": "", "text": "Bread is baked from flour, water, salt and yeast."},
    {"_id": "d3", "title": "Ferry", "text": "The ferry crosses the river twice an hour."},
    {"_id": "d4", "title": "Ferry again", "text": "The ferry crosses the river twice an hour."},
    {"_id": "d5", "title": "", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "sliding weight on a beam"},
    {"_id": "q2", "text": "why does bread need yeast?"},
    {"_id": "q3", "text": "river ferry"},
    {"_id": "unjudged", "text": "anything"},
    {"_id": "irrelevant", "text": "nothing"},
]
QRELS = [
    ("q1", "d1", 2), ("q2", "d2", 1), ("q3", "d3", 1), ("q3", "d4", 1), ("irrelevant", "d1", 0),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "weights and measures"
    made.mkdir()
    write(made, CORPUS)
    return made


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write(folder: Path, corpus: list[dict[str, str]]) -> None:
    (folder / "corpus.jsonl").write_text(lines(corpus))
    (folder / "queries.jsonl").write_text(lines(QUERIES))
    rows = "".join(f"{query}\t{passage}\t{grade}\n" for query, passage, grade in QRELS)
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows)


def evaluate(*arguments: object) -> str:
    """What the command prints."""
    out = StringIO()
    with redirect_stdout(out):
        run([*map(str, arguments)])
    return out.getvalue()


def failing(*arguments: object) -> str:
    with pytest.raises(UserError) as error:
        evaluate(*arguments)
    return str(error.value)


def test_figures_go_to_the_terminal_to_json_and_to_the_database(
    folder: Path, tmp_path: Path
) -> None:
    written = tmp_path / "figures.json"
    printed = evaluate(
        "--collection", folder, "--profile", "default", "--profile", "keyword-only", "rrf",
        "--json", written,
    )  # fmt: skip

    assert "weights and measures: 3 queries" in printed
    assert "rrf against default: +0.0000" in printed
    runs: list[dict[str, Any]] = json.loads(written.read_text())["runs"]
    assert [run["profile"] for run in runs] == ["default", "keyword-only", "rrf"]
    perfect = {"nDCG@10": 1, "R@10": 1, "R@100": 1, "RR@10": 1, "Success@1": 1}
    assert runs[0] | {"latency_ms": None} == {
        "collection": "weights and measures",
        "profile": "default",
        "queries": 3,
        # Relevant among the first five: one, one, and both ids of the ferry's text.
        "measures": perfect | {"P@5": pytest.approx((1 + 1 + 2) / 15, abs=1e-4)},
        "latency_ms": None,
    }
    assert 0 < runs[0]["latency_ms"]["p50"] <= runs[0]["latency_ms"]["p95"]

    assert "concept: 1 queries" in printed
    assert sum(map(int, re.findall(r"(?m)^ \w+: (\d+) queries$", printed))) == 3
    assert not EvaluationRun.objects.exists()  # those are of the site's own golden queries


def test_second_run_loads_no_passage(folder: Path) -> None:
    first = run(["--collection", str(folder)])[0]
    versions = set(DocumentVersion.objects.values_list("pk", flat=True))
    assert len(versions) == 3  # d3 and d4 are one document, d5 is none

    second = run(["--collection", str(folder)])[0]
    assert set(DocumentVersion.objects.values_list("pk", flat=True)) == versions
    assert first.means == second.means


def test_changed_corpus_is_loaded_again(folder: Path) -> None:
    evaluate("--collection", folder)
    changed = [
        CORPUS[0] | {"title": "Roman balance"},
        CORPUS[1] | {"text": "Bread rises by yeast."},
        *CORPUS[2:],
    ]
    write(folder, changed)
    (newest,) = run(["--collection", str(folder)])

    found = Document.objects.select_related("current")
    texts = {document.title: document.current.text for document in found}  # type: ignore[union-attr]
    assert texts["Roman balance"] == CORPUS[0]["text"]
    assert "Bread rises by yeast." in texts.values()
    assert CORPUS[1]["text"] not in texts.values()
    assert newest.means["nDCG@10"] == 1


@pytest.mark.parametrize("username", ["", "someone", "root"])
def test_no_reader_finds_a_judged_passage(folder: Path, username: str) -> None:
    """A superuser does where the collection is named, and not among the site's own documents."""
    evaluate("--collection", folder)
    is_root = username == "root"
    viewer: Any = AnonymousUser()
    if username:
        viewer = User.objects.create_user(username, is_superuser=is_root)
    assert not search("bread and yeast", viewer=viewer).results
    judged = Collection.objects.get()
    named = search("bread and yeast", viewer=viewer, filters=Filters(collections=(judged.slug,)))
    assert bool(named.results) is is_root
    assert not User.objects.filter(username="evaluation").exists()
    assert judged.name == "judged: weights and measures"


def test_limit_takes_queries_evenly(folder: Path) -> None:
    assert ": 2 queries" in evaluate("--collection", folder, "--limit", 2)


def test_evaluation_waits_for_a_slow_model(folder: Path, settings: Any) -> None:
    """Readers are answered in time without it; figures must not depend on the machine's load."""
    settings.QUERY_EMBEDDING_TIMEOUT = 0.0
    assert ": 3 queries" in evaluate("--collection", folder, "--profile", "vector-only")


def test_query_that_search_refuses_counts_as_zero(folder: Path) -> None:
    rows = [QUERIES[0], QUERIES[1] | {"text": "bread " * 700}, *QUERIES[2:]]
    (folder / "queries.jsonl").write_text(lines(rows))
    out = StringIO()
    with redirect_stdout(out):
        (outcome,) = run(["--collection", str(folder)])
    assert "1 queries were refused" in out.getvalue()
    assert outcome.means["Success@1"] == pytest.approx(2 / 3)


def test_collections_are_found_by_name_or_all_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELEVANCE_DIR", str(folder.parent))
    assert "weights and measures: 3 queries" in evaluate("--collection", folder.name)
    assert "weights and measures: 3 queries" in evaluate()


def test_evaluate_names_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    assert "no published profile 'none'" in failing("--collection", folder, "--profile", "none")
    assert "There is no folder" in failing("--collection", tmp_path / "nowhere")
    assert "corpus.jsonl, queries.jsonl, qrels.tsv is missing" in failing("--collection", tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("corpus.jsonl", '{"title": "no id"}\n', "Line 1 of "),
        ("queries.jsonl", "no JSON\n", "Line 1 of "),
        ("qrels.tsv", "q1\td1\tmuch\n", "with tabs"),
        ("qrels.tsv", "q1\td1\t0\n", "No query of "),
    ],
)
def test_damaged_collection_is_refused(folder: Path, name: str, content: str, problem: str) -> None:
    (folder / name).write_text(content)
    assert problem in failing("--collection", folder)


# --- collections of ir_datasets ----------------------------------------------------------------


class Article(NamedTuple):
    doc_id: str
    title: str | None
    abstract: str | None

    def default_text(self) -> str:
        return f"{self.title} {self.abstract}"


class Topic(NamedTuple):
    """As of the collections whose text ir_datasets does not name."""

    query_id: str
    query: str


class Row(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int


LONG = "The ferry is painted in the spring. " * 300 + "Its bell was cast in Utrecht."
ARTICLES = [
    Article("a1", "Ferry", "The ferry crosses the river twice an hour."),
    Article("a2", "Timetable of the ferry", None),
    Article("a3", None, LONG),
]
GRADED = [Row("t1", "a1", 1), Row("t1", "a1", 2), Row("t1", "a2", 1), Row("t1", "a3", -2)]
TOPICS = [Topic("t1", "crossing the river by ferry"), Topic("t2", "where was the bell cast?")]


@pytest.fixture
def dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ferries` without judgements, `/judged` and `/half` of it, and `adrift` without a server."""
    import ir_datasets
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries

    def part(base: type, kind: str, rows: Callable[[], Any]) -> Any:
        return type(kind, (base,), {f"{kind}_iter": lambda _: rows()})()

    def unreachable() -> Any:
        raise ConnectionError("no route to host")

    registry = ir_datasets.registry
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    docs = part(BaseDocs, "docs", lambda: iter(ARTICLES))
    queries = part(BaseQueries, "queries", lambda: iter(TOPICS))
    half = part(BaseQrels, "qrels", lambda: iter(GRADED))
    judged = part(BaseQrels, "qrels", lambda: iter([*GRADED, Row("t2", "a3", 1)]))
    registry.register("ferries", Dataset(docs, queries))
    registry.register("ferries/judged", Dataset(docs, queries, judged))
    registry.register("ferries/half", Dataset(docs, queries, half))
    registry.register("adrift", Dataset(part(BaseDocs, "docs", unreachable), queries, half))


@pytest.mark.usefixtures("dataset")
def test_a_collection_of_ir_datasets_is_measured_like_a_folder(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ("--profile", "default", "--json", written)
    folders = [irds.write(name, tmp_path) for name in ("ferries/judged", "ferries/half")]
    evaluate("--collection", *folders, *arguments)

    first, second = json.loads(written.read_text())["runs"]
    assert (first["collection"], first["queries"]) == ("ferries-judged", 2)
    assert (second["collection"], second["queries"]) == ("ferries-half", 1)
    # Both relevant articles of the first topic lead, the better one first; the long one has t2.
    assert first["measures"]["nDCG@10"] == first["measures"]["Success@1"] == 1
    judged = Document.objects.filter(collection__name="judged: ferries-judged")
    texts = judged.values_list("title", "current__text")
    assert {title: " ".join(text.split()) for title, text in texts} == {
        "Ferry": ARTICLES[0].abstract,
        "Timetable of the ferry": "Timetable of the ferry",
        "untitled": LONG,
    }


@pytest.mark.usefixtures("dataset")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ferrys", "Near it: ferries"),
        ("ferries", "ferries has no qrels: choose one of its subsets"),
        ("adrift", "adrift could not be read: no route to host"),
    ],
)
def test_a_dataset_that_cannot_be_measured_is_refused(
    name: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match=problem):
        irds.write(name, tmp_path)


def test_missing_package_is_named_with_its_requirements_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(SystemExit, match="pip install ir_datasets"):
        irds.write("beir/scifact/test", tmp_path)


# --- answers -----------------------------------------------------------------------------------


FERRIES = [
    {"_id": "d1", "title": "Ferry", "text": "The ferry crosses the river twice an hour. Its "
     "captain is Ada Lovelace. She has steered it since 1843."},
    {"_id": "d2", "title": "Bread", "text": "Bread is baked from flour, water, salt and yeast. It "
     "bakes for 45 minutes."},
]  # fmt: skip
ASKED: list[dict[str, Any]] = [
    {"_id": "q1", "text": "Who is the captain of the ferry?",
     "metadata": {"answers": ["Ada Lovelace"]}},
    {"_id": "q2", "text": "How long does bread bake?",
     "metadata": {"answers": ["45 minutes", "45"]}},
    {"_id": "no gold", "text": "What is bread?", "metadata": {}},
]  # fmt: skip
ANSWERED_BY = [("q1", "d1"), ("q2", "d2"), ("no gold", "d2")]
UNANSWERABLE = [{"_id": "u1", "text": "Who is the owner of the ferry?", "paragraph": "d1"}]


@pytest.fixture
def ferries(tmp_path: Path) -> Path:
    made = tmp_path / "ferries and bread"
    made.mkdir()
    (made / "corpus.jsonl").write_text(lines(FERRIES))
    (made / "queries.jsonl").write_text(lines(ASKED))
    (made / "unanswerable.jsonl").write_text(lines(UNANSWERABLE))
    (made / "qrels.tsv").write_text("".join(f"{query}\t{each}\t1\n" for query, each in ANSWERED_BY))
    return made


def test_figures_of_a_judged_collection(ferries: Path, tmp_path: Path) -> None:
    """S5-25, S5-44: every answer has sources, and every citation is valid."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "corpus.jsonl").write_text(lines(FERRIES[:1]))
    foreign = [{"_id": "f", "text": "aortic valve stenosis in children"}]
    (other / "queries.jsonl").write_text(lines(foreign))
    (other / "qrels.tsv").write_text("f\td1\t1\n")
    printed: list[str] = []
    (run,) = measured([str(ferries)], foreign=[str(other)], write=printed.append)

    text = "\n".join(printed)
    assert "ferries and bread: 2 questions with an answer, 1 without, 1 of other" in text
    assert "Mode instant" in text
    assert run["questions"] == {"answerable": 2, "unanswerable": 1, "foreign": 1, "rejected": 0}
    assert run["context_recall"]["by_shape"][-1]["recall"] == 1
    refusal = run["refusal"]["foreign"]
    assert refusal["auroc"] == 1
    assert refusal["risk_by_coverage"]["1.0"] == pytest.approx(1 / 3, abs=1e-4)
    mode = run["modes"]["instant"]
    halves = mode["halves"].values()
    assert sum(half["questions"] for half in halves) == 2
    assert all(half["at_a_glance"] in (None, 1.0) for half in halves)
    assert mode["with_sources"] == mode["valid_citations"] == 1
    assert 0 < mode["latency_ms"]["p50"] <= mode["latency_ms"]["p95"]
    assert not Answer.objects.exists()
