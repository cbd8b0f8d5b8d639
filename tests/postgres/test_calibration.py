"""`manage.py calibrate`: questions with and without an answer to a space's calibration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from common.accounts.models import User
from ingestion.models import EmbeddingSpace
from search.engine import configuration
from search.models import Calibration, SearchProfile
from search.pipeline import SearchResponse, search
from search.ranking import confidence
from search.tuning.evaluation.calibration import questions
from search.tuning.evaluation.collections import UNTITLED, corpus_collection, read
from search.tuning.evaluation.reliability import QuestionKind, is_held_out
from tests.support.database import lasting
from tests.support.factories import make_document

pytestmark = pytest.mark.django_db

# Of each: a document, a question that it answers, one that it only seems to answer.
HARBOUR = [
    ("Cranes", "The harbour crane lifts forty tonnes.", "How much does the harbour crane lift?"),
    ("Ferry", "The ferry crosses the river twice an hour.", "How often does the ferry cross?"),
    ("Lamp", "The lighthouse lamp turns once in nine seconds.", "How fast does the lamp turn?"),
    ("Pilot", "Ships longer than ninety metres take a pilot.", "Which ships take a pilot?"),
    ("Tide", "The tide rises four metres at the new moon.", "How far does the tide rise?"),
    ("Rope", "A mooring rope is renewed after two winters.", "When is a mooring rope renewed?"),
]
BAKERY = [
    ("Rye", "Rye bread needs a sourdough of three stages.", "What does rye bread need?"),
    ("Oven", "The oven reaches two hundred degrees by five.", "How hot does the oven get?"),
    ("Salt", "Salt slows the yeast and tightens the dough.", "What does salt do to yeast?"),
    ("Rolls", "Rolls are shaped by hand and rest for an hour.", "How long do rolls rest?"),
    ("Flour", "Spelt flour takes less water than wheat.", "Does spelt take less water?"),
    ("Cake", "The plum cake is sold on Fridays in August.", "When is the plum cake sold?"),
]
SEEMING = [
    ("Cranes", "Who built the harbour crane?"),
    ("Ferry", "What does the ferry to the island cost?"),
    ("Tide", "Why does the tide rise twice a day?"),
    ("Rope", "How thick is a mooring rope?"),
]


(MODEL,) = confidence.SHIPPED
FITTED = {"intercept": 9, "slopes": dict.fromkeys(confidence.FEATURES[confidence.Ran.VECTOR], 1)}


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[list[str]]:
    """Two judged collections, whose documents are searchable in all tests of this module."""
    root = tmp_path_factory.mktemp("judged")
    write(root / "harbour", HARBOUR)
    write(root / "bakery", BAKERY)
    rows = [{"_id": text, "text": text, "paragraph": title} for title, text in SEEMING]
    (root / "harbour" / "unanswerable.jsonl").write_text("\n".join(map(json.dumps, rows)))
    folders = [root / "harbour", root / "bakery"]
    with lasting(django_db_blocker):
        for judged in map(read, folders):
            collection = corpus_collection(judged)
            for passage in judged.passages():
                make_document(collection, passage.file, file_name=UNTITLED, title=passage.title)
        yield [str(folder) for folder in folders]


def write(folder: Path, rows: list[tuple[str, str, str]]) -> None:
    folder.mkdir()
    corpus = [{"_id": title, "title": title, "text": text} for title, text, _ in rows]
    asked = [{"_id": f"about {title}", "text": question} for title, _, question in rows]
    grades = [f"about {title}\t{title}\t1" for title, _, _ in rows]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (folder / "qrels.tsv").write_text("\n".join(grades))


def calibrated(folders: list[str], **options: object) -> Calibration:
    out = StringIO()
    call_command("calibrate", collection=folders, processes=1, stdout=out, **options)
    row = Calibration.objects.get()
    assert str(row.space) in out.getvalue()
    return row


def ask(text: str) -> SearchResponse:
    return search(text, viewer=User(is_superuser=True))


def test_a_calibration_is_fitted_measured_stored_and_used(folders: list[str]) -> None:
    row = calibrated(folders)

    assert row.space == EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
    asked = row.measures["both"]["questions"]
    # Set aside is about a half of 12 answerable questions and as many of the other kinds.
    assert set(asked) == {kind.value for kind in QuestionKind}
    assert 6 <= sum(asked.values()) <= 18
    assert 0.5 < row.measures["both"]["AUROC"] <= 1
    assert 0 <= row.measures["both"]["ECE"] <= 1
    assert "harbour, bakery" in row.trained_on

    found = confidence.CalibrationModels.from_json(row.coefficients)
    assert configuration.current().calibration == found
    assert found != confidence.shipped(row.space.fingerprint)
    known, unknown = ask("How often does the ferry cross?"), ask("quantum chromodynamics lecture")
    assert known.confidence is not None
    assert unknown.confidence is not None
    assert unknown.confidence < known.confidence
    # No page and no length of a page changes it.
    again = search(
        "How often does the ferry cross?", viewer=User(is_superuser=True), page=2, page_size=1
    )
    assert again.confidence == known.confidence


def test_calibrating_again_replaces_the_row_and_repeats_it(folders: list[str]) -> None:
    first = calibrated(folders)
    second = calibrated(folders)
    assert (second.pk, second.coefficients) == (first.pk, first.coefficients)
    assert calibrated(folders, seed=3).coefficients != first.coefficients


def test_a_new_space_does_not_use_the_old_ones_calibration(folders: list[str]) -> None:
    space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
    row = Calibration.objects.create(
        space=space,
        coefficients=confidence.SHIPPED[MODEL].as_json() | {"vector": FITTED},
        trained_on="made",
    )
    found = configuration.current().calibration
    assert found is not None
    assert found.models[confidence.Ran.VECTOR].intercept == 9

    row.space.state = EmbeddingSpace.State.DROPPING
    row.space.save()
    EmbeddingSpace.objects.create(
        name="another-model",
        fingerprint="another-model-r1",
        dimensions=384,
        max_tokens=256,
        state=EmbeddingSpace.State.ACTIVE,
    )

    assert configuration.current().calibration is None
    response = ask("How often does the ferry cross?")
    assert response.total
    assert (response.confidence, response.low_confidence) == (None, False)


def test_coefficients_that_cannot_be_read_are_not_used(folders: list[str]) -> None:
    space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
    Calibration.objects.create(space=space, coefficients={"both": "nonsense"}, trained_on="")
    assert configuration.current().calibration is None
    assert ask("How often does the ferry cross?").confidence is None


def test_the_model_that_ships_is_calibrated_from_the_start(folders: list[str]) -> None:
    space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
    assert configuration.current().calibration == confidence.shipped(space.fingerprint) is not None


class TestRefusals:
    def test_a_profile_without_vectors_calibrates_nothing(self, folders: list[str]) -> None:
        with pytest.raises(CommandError, match="keyword-only must weigh vectors"):
            calibrated(folders, profile="keyword-only")

    def test_a_profile_with_another_scorer_calibrates_nothing(self, folders: list[str]) -> None:
        active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        active.keyword_scorer = "overlap"
        active.save()
        with pytest.raises(CommandError, match="score keywords by BM25"):
            calibrated(folders)

    def test_says_which_line_is_wrong(self, folders: list[str]) -> None:
        path = Path(folders[0]) / "unanswerable.jsonl"
        before = path.read_text()
        path.write_text(before + '\n{"_id": "no text"}')
        try:
            with pytest.raises(CommandError, match=f"Line {len(SEEMING) + 1} of .*unanswerable"):
                calibrated(folders)
        finally:
            path.write_text(before)


class TestQuestions:
    def test_half_have_an_answer_and_the_rest_is_shared_out(self, folders: list[str]) -> None:
        harbour, bakery = map(read, map(Path, folders))
        made = questions(harbour, [bakery], seed=1)
        counts = {kind: sum(each.kind is kind for each in made) for kind in QuestionKind}
        assert counts == {
            QuestionKind.ANSWERABLE: 6,
            QuestionKind.UNANSWERABLE: 2,
            QuestionKind.WITHHELD: 2,
            QuestionKind.FOREIGN: 2,
        }
        assert made == questions(harbour, [bakery], seed=1)
        assert made != questions(harbour, [bakery], seed=2)
        assert len(questions(harbour, [bakery], limit=3)) == 6

    def test_no_document_is_on_both_sides(self, folders: list[str]) -> None:
        """A withheld and an unanswerable question go where their document's question goes."""
        harbour, bakery = map(read, map(Path, folders))
        made = questions(harbour, [bakery])
        sides = {each.group: is_held_out(each.group, 0) for each in made}
        about = {"Cranes", "Ferry", "Lamp", "Pilot", "Tide", "Rope"}
        assert {group.removeprefix("harbour: ") for group in sides} >= about
        for each in made:
            if each.kind in (QuestionKind.WITHHELD, QuestionKind.UNANSWERABLE):
                assert each.group in {a.group for a in made if a.kind is QuestionKind.ANSWERABLE}
