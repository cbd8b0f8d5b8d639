"""Two embedding models compared on the site's own questions, each on its own scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ingestion import spaces
from ingestion.embedding import Embedder
from ingestion.models import Chunk, Document, EmbeddingSpace
from ingestion.models.collections import JUDGED
from ingestion.models.statistics import recount
from ingestion.spaces import backfill, changes
from ingestion.spaces.report import report_on
from search.engine import configuration, similarity_background
from search.errors import RunFailed
from search.ranking.cosine_scale import MINILM, CosineScale
from search.tuning.evaluation.golden_set import Golden, ask
from search.tuning.evaluation.model_comparison import compare, made_questions
from search.tuning.models import GoldenQuery, Judgement
from tests.support.factories import make_collection, make_document
from tests.support.fake_openai import FakeOpenAI, Reply, Request, Vector, embeddings, vector_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("clean_cache")]

# A document, and a question in other words.
PAIRS = {
    "The vehicle is repaired in the garage on Mondays.": "where do they fix cars",
    "Physicians see their patients before noon.": "when can I visit the doctor",
    "A purchase is refunded within a fortnight.": "how long to get my money back",
    "The infant sleeps in a cot beside the bed.": "where should a baby lie at night",
    "Our canine must wear a lead in the park.": "rules for taking the dog outside",
    "The lecture is cancelled owing to heavy snow.": "is the class held in bad weather",
}
WORDS = ("Workshop", "Surgery", "Sales", "Nursery", "Pets", "Courses")
# Each document's second passage, in other words again.
MORE = (
    "Mechanics change tyres, oil and brakes of every automobile that is towed in over there. ",
    "Nurses take blood and write prescriptions while the sick wait in the hall downstairs. ",
    "Customers who return goods get their payment back from the cashier without any fee. ",
    "Parents sing lullabies and dim the lamp so that their little one dozes off quickly. ",
    "Puppies are walked on a leash, and owners pick up what these animals leave behind. ",
    "Students stay at home during storms, and teachers hold their lessons another day. ",
)
OFFSET = 2.0  # of a further coordinate: all cosines lie between .6 and 1


@pytest.fixture
def library() -> EmbeddingSpace:
    """The packaged model's space with a golden query for each document."""
    collection = make_collection(chunk_tokens=32, overlap_tokens=0)
    for number, (text, question) in enumerate(PAIRS.items()):
        content = f"# {WORDS[number]}\n\n{text} {text}\n\n{MORE[number] * 2}"
        document = make_document(collection, content, file_name=f"{number}.md")
        golden = GoldenQuery.objects.create(text=question)
        Judgement.objects.create(query=golden, reference=document.public_id, grade=3)
    recount()
    return EmbeddingSpace.objects.get()


@pytest.fixture
def model(monkeypatch: Any, settings: Any) -> Iterator[Any]:
    """A function that fills a space of a server's model, which maps texts to vectors."""
    servers = []

    def filled(vectors_of: Any, dimensions: int) -> EmbeddingSpace:
        def answer(request: Request) -> Reply:
            return Reply(embeddings(request, vectors_of(request.texts)), good=True)

        server = FakeOpenAI(*[answer] * 1000, api_key="key", dimensions=dimensions)
        servers.append(server)
        server.__enter__()
        monkeypatch.setenv("NEW_KEY", "key")
        settings.EMBEDDING_ADDRESSES = [each.base_url for each in servers]
        settings.EMBEDDING_KEY_VARIABLES = ["NEW_KEY"]
        options = {"model": "new", "base_url": server.base_url, "api_key_env": "NEW_KEY"}
        space = changes.create("openai", options, name=f"Model {len(servers)}", acting_user=None)
        changes.start(space, acting_user=None)
        assert backfill.advance(space.pk)
        space.refresh_from_db()
        return space

    yield filled
    for server in servers:
        server.__exit__(None, None, None)


def squeezed(local: Embedder) -> Any:
    """A function that gives a model's vectors on another scale."""

    def vectors_of(texts: Any) -> list[Vector]:
        vectors = local.embed_documents(texts)
        return list(np.hstack([vectors, np.full((len(vectors), 1), OFFSET, np.float32)]))

    return vectors_of


def without_meaning(texts: Any) -> list[Vector]:
    return [vector_of(repr(text).replace(" ", "_"), 8) for text in texts]


def test_the_same_model_on_another_scale_ranks_the_same(
    library: EmbeddingSpace, model: Any, capsys: Any
) -> None:
    other = model(squeezed(spaces.embedder(library)), 385)
    before = configuration.current()
    call_command("embedding_space", "compare", str(library.pk), "Model 1")
    out = capsys.readouterr().out
    assert "golden queries (6)" in out
    assert out.count("+0.000 (+0.000 to +0.000)") == 2
    assert "on the golden queries neither is clearly better" in out
    kept = EmbeddingSpace.objects.values_list("comparison", flat=True)
    assert [text.strip() for text in kept] == [
        out[out.index(f"{timezone.now():%Y-}") :].strip()
    ] * 2
    # (cosine + 4) / 5: five times closer together.
    assert similarity_background.read(other)[1] == CosineScale(5.0, -4.0)
    assert any("times 5, -4." in remark for remark in report_on(other).remarks)
    assert not any("times" in remark for remark in report_on(library).remarks)
    after = configuration.current()  # nothing changes for readers
    assert (after.space, after.cosine_scale) == (before.space, MINILM)


def test_worse_model_is_called_worse(library: EmbeddingSpace, model: Any) -> None:
    other = model(without_meaning, 8)
    golden, made = compare(library, other).rows()
    assert golden[:2] == ("golden", 6)
    assert golden[2] > golden[3]
    assert (golden[4].is_clear, golden[4].mean) == (True, pytest.approx(golden[3] - golden[2]))
    assert made[0] == "made"
    assert made[1] >= 2 * len(PAIRS)
    assert made[2] > made[3]
    both = compare(library, other)
    assert both.one.seconds > 0
    # As many vectors of 384 and of 8 numbers, and an index.
    assert both.one.megabytes > both.other.megabytes > 0


def test_made_questions_are_answered_by_the_other_passages(library: EmbeddingSpace) -> None:
    # Searched only if it is named.
    judged = make_collection(f"{JUDGED}corpus", chunk_tokens=32, overlap_tokens=0)
    make_document(judged, "A corpus is no part of the library. " * 20, file_name="c.txt")
    text = "The lighthouse keeper polishes brass every evening."
    alone = make_document(make_collection("Coast"), text, file_name="coast.txt")
    made = list(made_questions())
    assert {each.public_id for each in made} == documents("Handbook")
    sentences = [each.replace(",", "") for each in (*PAIRS, *MORE)]
    assert all(any(golden.text in each for each in sentences) for golden in made)
    assert [each.text for each in made_questions(4)] == [each.text for each in made[:4]]

    (chunk,) = Chunk.objects.filter(document=alone)
    golden, profile = Golden(-chunk.pk, "", text), configuration.current().profile()
    assert ask(golden, profile).first == str(alone.public_id)
    others = ask(golden, profile, without=chunk.pk).ranking
    assert str(alone.public_id) not in others
    assert set(others) <= documents("Handbook")


def documents(collection: str) -> set[str]:
    """The public ids of a collection's documents."""
    rows = Document.objects.filter(collection__name=collection)
    return {str(each.public_id) for each in rows}


def test_space_without_its_vectors_is_not_compared(library: EmbeddingSpace) -> None:
    space = EmbeddingSpace.objects.create(
        name="Empty", fingerprint="x", dimensions=8, max_tokens=8, state="building"
    )
    with pytest.raises(RunFailed, match="not filled"):
        compare(library, space)
    with pytest.raises(CommandError, match="not filled"):
        call_command("embedding_space", "compare", "Empty", str(library.pk))
