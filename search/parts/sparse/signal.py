"""The sparse encoder, the words that it expects of passages, and the signal that compares them.

SPLADE (Formal 2021): a masked language model gives each word of its vocabulary a weight for a text,
words that the text does not have among them. fastembed runs the model
(`ingestion.embedding.fastembed`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import FloatField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from pgvector import SparseVector

from common.probes import Finding, look
from ingestion.chunking import embedding_text
from ingestion.embedding.config import usable_cores
from ingestion.embedding.fastembed import sparse_encoder
from ingestion.embedding.protocol import encodable
from ingestion.errors import EmbeddingError
from ingestion.models import Chunk
from search.domain import Query, Relative, Signal
from search.parts.sparse.models import VOCABULARY, PassageExpansion
from search.signals.registry import Inputs, SignalPart, SignalSQL

# A text of 256 tokens has 31 MB of logits. A guess.
AT_ONCE = 4
PAGE = 50  # passages read and written at once
# The heaviest words kept of a text: SPLADE gives some 130 to a passage, and pgvector's index takes
# 1,000. A guess.
MOST_WORDS = 256
MOST_NAMED = 3
SECONDS = 25.0  # of one run: the next begins after 30


@lru_cache(maxsize=1)
def encoder() -> Any:
    """fastembed's encoder. Raises EmbeddingError, each time anew."""
    options = settings.EMBEDDER_OPTIONS["fastembed"]
    return sparse_encoder(options["models_dir"], options["threads"] or usable_cores())


def expansions(texts: Sequence[str]) -> Iterator[dict[int, float]]:
    """The weights of the heaviest words of each text by token. Raises EmbeddingError."""
    for each in encoder().embed(list(map(encodable, texts)), batch_size=AT_ONCE):
        weights = dict(zip(each.indices.tolist(), each.values.tolist(), strict=True))
        heaviest = sorted(weights, key=weights.__getitem__, reverse=True)[:MOST_WORDS]
        yield {token: weights[token] for token in sorted(heaviest)}


def tokens(query: Query) -> dict[int, float]:
    """The weights of the words expected of the query's answer, by token."""
    token = encoder().model.tokenizer.token_to_id
    return {token(word.text): word.grade for word in query.expected}


def expand(seconds: float = SECONDS) -> int:
    """Store the words of passages that lack them, for so long; return how many passages.

    Raises EmbeddingError.
    """
    end, done = time.monotonic() + seconds, 0
    without = Chunk.objects.filter(searchable=True, expansion__isnull=True).order_by("pk")
    rows = without.values_list("pk", "document__title", "heading_path", "text")
    while time.monotonic() < end and (batch := list(rows[:PAGE])):
        texts = [embedding_text(title, path, text) for _, title, path, text in batch]
        weights = list(expansions(texts))
        with transaction.atomic():
            # Not of those that changed in the meantime, and an edit waits for these.
            passages = Chunk.objects.select_for_update().filter(pk__in=[row[0] for row in batch])
            current = dict(passages.values_list("pk", "text"))
            PassageExpansion.objects.bulk_create(
                (
                    PassageExpansion(chunk_id=pk, vector=SparseVector(each, VOCABULARY))
                    for (pk, *_, text), each in zip(batch, weights, strict=True)
                    if current.get(pk) == text
                ),
                ignore_conflicts=True,
            )
        done += len(batch)
    return done


def forget(versions: Sequence[int], **_signal: Any) -> None:
    """Delete the words of these versions' passages, which changed; `expand` writes them anew."""
    PassageExpansion.objects.filter(chunk__version__in=versions).delete()


class SparseSignal(SignalPart):
    """The product of the weights of question and passage; 0 for a passage without words."""

    signal = Signal.SPARSE
    label = _("Expected words")
    advice = _(
        "Finds words that a model expects beside those of question and passage. Raising it "
        "lets an expected word count as much as the word itself."
    )
    unavailable = _("Expected words are unavailable; showing other matches.")

    def runs(self, inputs: Inputs) -> bool:
        return super().runs(inputs) and bool(inputs.query.expected)

    def sql(self, inputs: Inputs) -> SignalSQL:
        # Constant text: the question's vector is that of the common table.
        distance = RawSQL(
            "sparse_passageexpansion.vector <#> (SELECT vector FROM expected)",
            (),
            output_field=FloatField(),
        )
        stored = inputs.scope.chunks.filter(expansion__isnull=False)
        nearest = stored.alias(distance=distance).filter(distance__lt=0).order_by("distance")
        return SignalSQL(
            score="coalesce((SELECT -(e.vector <#> (SELECT vector FROM expected))"
            " FROM sparse_passageexpansion e WHERE e.chunk_id = c.id), 0)",
            find=nearest.values("pk")[: inputs.profile.depth],
            tables="expected AS MATERIALIZED (SELECT %(expected)s::sparsevec AS vector),\n",
        )

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        return {"expected": SparseVector(tokens(inputs.query), VOCABULARY).to_text()}

    def measure(self, scorer: str) -> Any:
        return _("product of expected words")

    def is_available(self) -> bool:
        return next(self.findings(), None) is None

    def findings(self) -> Iterator[Finding]:
        try:
            encoder()
        except EmbeddingError as error:
            text = f"The active profile weighs expected words, but: {error}"
            yield look(text, "Or set the weight to 0.", "W017")

    def prepare(self, query: Query) -> Query:
        """With the words that the question's answer is expected to have."""
        try:
            (weights,) = expansions([query.text])
        except EmbeddingError:
            return query
        word = encoder().model.tokenizer.id_to_token
        expected = (Relative(word(token), weight) for token, weight in weights.items())
        return replace(query, expected=tuple(expected))

    def clauses(self, query: Query, chunks: Sequence[int]) -> Mapping[int, str]:
        own = set(query.text.casefold().split())
        asked = tokens(query) if query.expected else {}
        text_of = {token: each.text for token, each in zip(asked, query.expected, strict=True)}
        said: dict[int, str] = {}
        rows = PassageExpansion.objects.filter(chunk__in=chunks).values_list("chunk", "vector")
        for chunk, vector in rows if asked else ():
            pairs = zip(vector.indices(), vector.values(), strict=True)
            shares = {
                text_of[each]: asked[each] * weight for each, weight in pairs if each in asked
            }
            words = [each for each in shares if each.isalnum() and each not in own]
            best = sorted(words, key=shares.__getitem__, reverse=True)[:MOST_NAMED]
            if best:
                named = [f"“{each}”" for each in best]
                text = ngettext(
                    "%(words)s was expected of this passage",
                    "%(words)s were expected of this passage",
                    len(named),
                )
                said[chunk] = text % {"words": ", ".join(named)}
        return said


SPARSE = SparseSignal()
