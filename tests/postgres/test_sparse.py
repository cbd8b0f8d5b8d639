"""The part “sparse” on the real database, with an encoder whose weights the tests set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest import approx

from common.accounts.models import User
from ingestion.documents import editing
from ingestion.documents.editing import Wish
from ingestion.events import reindexed
from ingestion.models import Chunk, Collection, Document, Visibility
from kbsite.operations.probes.database import signals
from search import pipeline
from search.domain import Signal, Weights
from search.engine import configuration
from search.models import ClassWeights, SearchProfile
from search.parts.sparse import signal as sparse
from search.parts.sparse.models import PassageExpansion
from search.pipeline import Choices, SearchResponse
from search.presentation.why_here import reason
from search.signals import registry
from tests.support.factories import make_collection, make_document
from tests.support.fastembed_models import splade

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

WORDS = {
    "car": {"car": 1.0, "vehicle": 0.5},
    "automobile": {"automobile": 1.5, "vehicle": 2.0, "road": 0.7},
    "bread": {"bread": 1.0, "oven": 1.0},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    splade(folder / "splade", WORDS)
    return folder


@pytest.fixture(autouse=True)
def part(files: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A site whose SEARCH_PARTS names the part."""
    own = {**settings.EMBEDDER_OPTIONS["fastembed"], "models_dir": files, "threads": 1}
    settings.EMBEDDER_OPTIONS = {**settings.EMBEDDER_OPTIONS, "fastembed": own}
    monkeypatch.setattr(registry, "_parts", dict(registry._parts))
    registry.register(sparse.SPARSE)
    reindexed.connect(sparse.forget)
    sparse.encoder.cache_clear()
    yield
    sparse.encoder.cache_clear()
    reindexed.disconnect(sparse.forget)


@pytest.fixture
def library() -> Collection:
    collection = make_collection()
    make_document(collection, "# First\n\nThe automobile is old.")
    make_document(collection, "# Second\n\nThe bread is old.")
    sparse.expand()
    return collection


def search(text: str, *, viewer: User | None = None, **weights: float) -> SearchResponse:
    shares = {"vector": 0.0, "keyword": 0.0, "title": 0.0} | weights
    return pipeline.search(text, viewer=viewer, choices=Choices(weights=Weights(**shares)))


def titles(response: SearchResponse) -> list[str]:
    return [result.title for result in response.results]


@pytest.mark.usefixtures("library")
def test_a_passage_without_the_word_is_found_by_what_is_expected_of_both() -> None:
    response = search("the car", sparse=1.0)
    (result,) = response.results
    assert result.title == "First"
    assert result.hit.candidate.raw[Signal.SPARSE] == approx(0.5 * 2.0, rel=1e-3)
    assert result.hit.explanation.share(Signal.SPARSE) == approx(1)
    # Neither `road`, which the question does not expect, nor `car`, which it says itself.
    assert "“vehicle” was expected of this passage" in reason(result, response.ranking.candidates)


@pytest.mark.usefixtures("library")
def test_without_a_weight_it_neither_runs_nor_says_anything() -> None:
    response = search("the automobile", keyword=1.0)
    (result,) = response.results
    assert Signal.SPARSE not in result.hit.candidate.raw
    assert "expected" not in reason(result, response.ranking.candidates)


def test_no_passage_is_found_that_the_reader_may_not_read(library: Collection) -> None:
    Collection.objects.filter(pk=library.pk).update(visibility=Visibility.SIGNED_IN)
    assert titles(search("the car", sparse=1.0)) == []


def test_a_changed_passage_gets_the_words_of_its_new_text(library: Collection) -> None:
    chunk = Chunk.objects.get(document__title="Second")
    wish = Wish(text="The automobile is new.")
    editing.edit_chunk(chunk, wish, acting_user=None)
    assert titles(search("the car", sparse=1.0)) == ["First"]
    assert sparse.expand() == 1
    assert sorted(titles(search("the car", sparse=1.0))) == ["First", "Second"]
    assert sparse.expand() == 0


@pytest.mark.usefixtures("library")
def test_the_database_deletes_the_words_with_their_passage() -> None:
    assert PassageExpansion.objects.count() == 2
    Chunk.objects.filter(text__contains="bread").delete()
    assert PassageExpansion.objects.count() == 1


@pytest.mark.usefixtures("library")
def test_an_encoder_that_is_not_there_is_named(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.embedding.fastembed._hub.trip", lambda: None)
    (tmp_path / "splade").mkdir()
    settings.EMBEDDER_OPTIONS["fastembed"]["models_dir"] = tmp_path
    sparse.encoder.cache_clear()
    rows = ClassWeights.objects.filter(profile__state=SearchProfile.State.ACTIVE)
    rows.update(vector=0, keyword="0.5", title=0, recency=0, synonym=0, sparse="0.5")
    configuration.bump()
    response = pipeline.search("the automobile", viewer=None)
    assert (titles(response), response.degraded) == (["First"], (Signal.SPARSE,))
    assert [each for each in signals() if "expected words" in each.text]


def test_without_the_part_there_are_no_rows_and_a_weight_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reindexed.disconnect(sparse.forget)
    bare = {key: each for key, each in registry._parts.items() if key is not Signal.SPARSE}
    monkeypatch.setattr(registry, "_parts", bare)
    document: Document = make_document(make_collection(), "# First\n\nThe automobile is old.")
    assert not PassageExpansion.objects.filter(chunk__document=document).exists()
    assert "sparse" in registry.problem_with({"sparse": 0.25})
