"""Two embedding models on a site's own questions, each under the weights that it would have."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingestion import spaces
from ingestion.lexical.sentences import sentences
from ingestion.models import Chunk, EmbeddingSpace
from ingestion.spaces.index import index_bytes
from ingestion.spaces.vectors import texts_of
from search.engine import configuration, similarity_background
from search.errors import RunFailed
from search.tuning.evaluation.golden_set import Golden, ask, golden_set, values_of
from search.tuning.evaluation.measures import LEADING, Interval, Progress, difference, means
from search.tuning.evaluation.profile_runs import evaluator

MADE = 200  # as many questions as give an interval of about .02; a guess
FEWEST_WORDS, LONGEST = 4, 200  # of a made question, in words and in characters
TIMED = 32  # passages: one batch of a local model
# Besides its numbers of two bytes each: the header of a vector, of its row, and the row's keys.
ROW_BYTES = 8 + 28 + 16
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """A space's measures by question, the time to embed a thousand passages, and its disk space.

    `golden` and `made` are values of LEADING by the question's key.
    """

    space: EmbeddingSpace
    seconds: float
    megabytes: float
    golden: dict[str, dict[str, float]] = field(default_factory=dict)
    made: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """The figures of two models. Both have answered the same questions."""

    one: ModelFigures
    other: ModelFigures

    def rows(self) -> Iterator[tuple[str, int, float, float, Interval]]:
        """The kind of questions, their number, both means, and the second less the first."""
        for name in ("golden", "made"):
            ours, theirs = getattr(self.one, name), getattr(self.other, name)
            if ours:
                change = difference(theirs, ours, LEADING)
                yield name, len(ours), means(ours)[LEADING], means(theirs)[LEADING], change


def compare(
    one: EmbeddingSpace, other: EmbeddingSpace, *, progress: Progress = lambda done, total: None
) -> ModelComparison:
    """Ask both models the golden queries and made questions, under the active profile.

    Each ranks with its own vectors and its own scale, and nothing changes for readers. Raises
    RunFailed if a space is not filled, if there are no passages, or if its model does not answer.
    """
    for space in (one, other):
        if space.filled_at is None:
            raise RunFailed(f"{space} is not filled yet: fill it first, then compare.")
    similarity_background.refresh()
    kinds = {"golden": [g for g in golden_set() if g.is_measured], "made": list(made_questions())}
    if not any(kinds.values()):
        raise RunFailed("There are no passages and no golden queries to compare models with.")
    total, done = 2 * sum(map(len, kinds.values())), 0
    both = []
    for space in (one, other):
        configured = configuration.current().in_space(space)
        profile, figures = configured.profile(), _costs(space)
        for name, goldens in kinds.items():
            rankings = {}
            for golden in goldens:
                source = -golden.pk if name == "made" else None
                answer = ask(golden, profile, configured=configured, without=source)
                if answer.problem:
                    raise RunFailed(f"{space}: {answer.problem}")
                rankings[golden.key], done = answer.ranking, done + 1
                progress(done, total)
            getattr(figures, name).update(values_of(goldens, rankings))
        both.append(figures)
    return ModelComparison(*both)


def made_questions(most: int = MADE) -> Iterator[Golden]:
    """Yield first sentences of passages, answered by the other passages of their document.

    The inverse cloze task (Lee, Chang & Toutanova 2019); `pk` is the passage's, negative. Of
    searched passages in the order of their hashes, so that they are the same each time.
    """
    chunks = Chunk.objects.searched_by(evaluator()).filter(version__chunk_count__gt=1)
    rows = chunks.select_related("document").order_by("content_hash", "pk")[: 2 * most]
    texts: set[str] = set()
    for chunk in rows:
        # Words alone: quotes and colons would be operators.
        every = (_WORD.findall(chunk.text[each.start : each.end]) for each in sentences(chunk.text))
        text = " ".join(next((words for words in every if len(words) >= FEWEST_WORDS), ()))
        if text and text not in texts and len(texts) < most:
            texts.add(text)
            document = str(chunk.document.public_id)
            yield Golden(-chunk.pk, document, text[:LONGEST], qrels={document: 1})


def _costs(space: EmbeddingSpace) -> ModelFigures:
    model = spaces.embedder(space)
    rows = spaces.ready_chunks().select_related("version__document__collection")
    chunks = list(rows.order_by("content_hash", "pk")[:TIMED])
    texts = texts_of(chunks, model)
    started = time.perf_counter()
    model.embed_documents(texts)
    seconds = 1000 * (time.perf_counter() - started) / max(1, len(texts))
    size = space.embeddings.count() * (2 * space.dimensions + ROW_BYTES) + index_bytes(space)
    return ModelFigures(space, seconds, size / 1e6)
