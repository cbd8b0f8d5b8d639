"""Judged sections: the collection that ships, its figures, golden queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from benchmarks.judged import command, demo
from benchmarks.judged.sections import (
    SectionCollection,
    SectionCorpus,
    read_sections,
    resolve,
)
from benchmarks.questions import by_question
from ingestion.documents import processing_steps
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, Collection, DocumentVersion, Lane
from kbsite.demo import documents, examples
from search.tuning.evaluation.beir import EvaluationError
from search.tuning.evaluation.golden_set import golden_set
from search.tuning.models import EvaluationRun, GoldenQuery, Judgement
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_worker")]

LONG = " It is checked by the crew before each shift, and a note of it is kept in the book." * 30
PAGE = f"""# Harbour

Notes for the crew.

## Cranes

The harbour crane lifts forty tonnes.{LONG}

### Brakes

The brake of a crane holds without power.{LONG}

## Ferry

The ferry crosses the river twice an hour.{LONG}

### Fare

Two coins.
"""
QUESTIONS = {
    "q1": "how much does the crane lift",
    "q2": "what does the ferry cost",
    "q3": "who built the harbour",
}
GRADES = [
    ("q1", "old/harbour.md#Cranes", 3),
    ("q1", "old/harbour.md#Cranes > Brakes", 1),
    ("q1", "old/harbour.md#Derricks", 2),
    ("q2", "old/harbour.md#Ferry > Fare", 3),
    ("q2", "old/harbour.md", 1),
    ("q3", "old/harbour.md#", 0),
]


def write(folder: Path, grades: Sequence[tuple[str, str, int]]) -> None:
    rows = [json.dumps({"_id": key, "text": text}) for key, text in QUESTIONS.items()]
    (folder / "queries.jsonl").write_text("\n".join(rows))
    lines = ["query-id\tsection\tgrade", *("\t".join(map(str, each)) for each in grades)]
    (folder / "qrels.tsv").write_text("\n".join(lines))


@pytest.fixture
def harbour(tmp_path: Path) -> SectionCollection:
    """A judged collection of one document, which the site has under a newer source."""
    collection = make_collection("Harbour")
    make_document(collection, PAGE, file_name="harbour.md", source="new/harbour.md")
    write(tmp_path, GRADES)
    return read_sections(
        tmp_path, lambda say, processes: ([collection.slug], {"old/": "new/"}), "harbour"
    )


def corpus(harbour: SectionCollection) -> SectionCorpus:
    return resolve(harbour, *harbour.load(print, 1))


def process(versions: Sequence[int], **_: object) -> None:
    """Process uploads within the test's transaction, which no other process sees."""
    for version in versions:
        processing_steps.advance(version)
    bm25_weights.fold()


def sections(found: SectionCorpus, query: str) -> dict[str, set[str]]:
    """The first words of the passages of each judged section of a query."""
    texts = dict(Chunk.objects.values_list("pk", "text"))
    names: dict[str, set[str]] = {}
    for chunk, name in found.judged[query].items():
        names.setdefault(name, set()).add(texts[chunk].split("\n")[0])
    return names


def test_passages_find_their_innermost_judged_section(harbour: SectionCollection) -> None:
    found = corpus(harbour)
    of_first = sections(found, "q1")
    assert set(of_first) == {"old/harbour.md#Cranes", "old/harbour.md#Cranes > Brakes"}
    assert "Brakes" in of_first["old/harbour.md#Cranes > Brakes"]
    assert "Brakes" not in of_first["old/harbour.md#Cranes"]
    # Too small for a passage of its own, the fare is in one of its neighbours'.
    of_second = sections(found, "q2")
    assert set(of_second) == {"old/harbour.md#Ferry > Fare", "old/harbour.md"}
    assert "Brakes" in of_second["old/harbour.md"]


def test_defined_term_is_a_section_of_its_passage(harbour: SectionCollection) -> None:
    """A line that only says the same is none, but for passages from before sections were stored."""
    page = "# Words\n\n## Terms\n\nKeel\n:   Below the hull.\n\nSee\n\nBallast\n\nIts stones.\n"
    make_document(Collection.objects.get(), page, file_name="words.md", source="words.md")
    grades = [("q1", "words.md#Terms > Keel", 2), ("q1", "words.md#Terms > Ballast", 2)]
    write(harbour.folder, grades)
    judged = read_sections(harbour.folder, harbour.load, "harbour")
    assert corpus(judged).missing == ("words.md#Terms > Ballast",)
    Chunk.objects.update(sections=[])
    assert "words.md#Terms > Ballast" not in corpus(judged).missing


def test_sections_that_are_gone_are_named_and_left_out(harbour: SectionCollection) -> None:
    found = corpus(harbour)
    assert found.missing == ("old/harbour.md#Derricks",)
    assert "old/harbour.md#Derricks" not in found.qrels["q1"]
    assert set(found.qrels) == {"q1", "q2"}
    assert dict(harbour.without_answer) == {"q3": QUESTIONS["q3"]}
    with pytest.raises(EvaluationError, match="None of the sections"):
        resolve(harbour, ["nowhere"], {})


class TestEvaluate:
    @pytest.fixture(autouse=True)
    def shipped(
        self, harbour: SectionCollection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setitem(command.SHIPPED, "demo", lambda: harbour)
        monkeypatch.setenv("RELEVANCE_DIR", str(tmp_path / "nowhere"))

    def evaluate(self, *arguments: str) -> str:
        out = StringIO()
        with redirect_stdout(out):
            command.run(arguments)
        return out.getvalue()

    def test_shipped_judged_collection_is_measured_by_default(self) -> None:
        printed = self.evaluate("--profile", "default", "keyword-only")
        assert "nowhere is missing, so the judged collection that ships is used" in printed
        assert "BEIR" in printed
        assert "licence" in printed
        assert "harbour: 2 queries" in printed
        assert "1 judged sections are not in the documents" in printed

    def test_evaluation_names_the_first_result_of_each_question(self) -> None:
        (outcome,) = command.run([])
        printed = by_question(outcome)
        row = "| how much does the crane lift | old/harbour.md#Cranes | 3 of 3 | yes | 1 |"
        assert row in printed
        assert "Right passage first in 1 of 2, one that answers (grade 2 or better) in 1" in printed
        assert "right document among the first three in 2 of 2" in printed
        assert "| what does the ferry cost |" not in by_question(outcome, ["q1"])
        with pytest.raises(EvaluationError, match="no measured query q9"):
            by_question(outcome, ["q9"])


class TestShipped:
    def test_questions_and_grades_fit_together(self) -> None:
        found = demo.collection()
        assert len(found.queries) >= 60
        assert len(found.without_answer) >= 5
        texts = {**found.queries, **found.without_answer}
        assert set(found.qrels) == set(texts)
        assert len(set(texts.values())) == len(texts)
        assert {grade for held in found.qrels.values() for grade in held.values()} == {0, 1, 2, 3}

    def test_every_judged_section_of_the_samples_is_there(self) -> None:
        collection = make_collection(documents.SAMPLES)
        for file in documents.samples():
            made = make_document(
                collection, file.content, file_name=file.file_name, source=file.source
            )
            assert made.current is not None
        judgements = demo.collection()
        found = resolve(judgements, [collection.slug], examples.aliases())
        assert [name for name in found.missing if name.startswith("samples/")] == []

        GoldenQuery.objects.create(text="judged while the demo loads", enabled=False)
        lines: list[str] = []
        examples.load_golden_queries(lines.append)
        questions = {each.text: each for each in golden_set()}
        assert len(questions) == GoldenQuery.objects.count() - 1 >= 14
        assert f"{len(questions)} golden queries" in lines[0]
        (run,) = EvaluationRun.objects.all()
        assert (run.profile.state, run.state) == ("active", EvaluationRun.State.QUEUED)
        monsters = questions["submarine monsters"]
        assert monsters.collections == (collection.slug,)
        assert max(monsters.qrels.values()) == 3
        assert "Aboleth" in Judgement.objects.filter(grade=3).values_list("note", flat=True)
        # The wrong answer that is first is not judged as the right one.
        belt = GoldenQuery.objects.get(text="why do we stop the belt")
        right = belt.judgements.get(grade=3).document
        assert right is not None
        assert right.source == "samples/machinery-underground.docx"

        Judgement.objects.filter(query=belt).delete()
        examples.load_golden_queries(lines.append)
        assert len(lines) == EvaluationRun.objects.count() == 1
        assert not Judgement.objects.filter(query=belt).exists()

        # The download failed at the first start: the manual's come with the manual.
        page = f"{documents.release()}/topics/db/queries.txt"
        manual = documents.SourceFile("queries.rst", page, b"Queries\n=======\n\nA text.\n")
        documents.receive(documents.DJANGO_DOCS, [manual], documents.Uploads())
        # A person's own first upload does not wait for all of them.
        assert DocumentVersion.objects.get(document__source=page).lane == Lane.BULK
        examples.load_golden_queries(lines.append)
        assert len(lines) == 2
        assert not Judgement.objects.filter(query=belt).exists()

    def test_shipped_collection_is_hidden_from_readers(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        page = documents.SourceFile("page.rst", "django-9.9/page.txt", b"Page\n====\n\nText.\n")
        monkeypatch.setattr(documents, "django_docs", lambda folder, say: [page])
        monkeypatch.setattr(documents, "samples", list)
        monkeypatch.setattr(demo, "finish", process)
        slugs, aliases = demo.load(print, 1)
        collection = Collection.objects.get(slug=slugs[0])
        assert collection.name == "judged: demo"
        assert collection.visibility == "groups"
        assert Chunk.objects.filter(searchable=True, collection=collection).exists()
        assert set(aliases) == {"django/"}
