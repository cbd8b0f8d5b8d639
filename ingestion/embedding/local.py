"""The embedder that runs a model in this process, on onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from common.circuit_breaker import PerProcess
from ingestion.embedding.config import LocalModelConfig, usable_cores
from ingestion.embedding.local_model import LocalModel
from ingestion.embedding.minilm import minilm_model
from ingestion.embedding.model_folder import (
    dense_layer,
    encoder_of,
    ends_of_wordpiece,
    folder_model,
)
from ingestion.embedding.protocol import (
    CACHED_CHARS,
    Embedder,
    ModelCard,
    ModelTokenizer,
    Tokenizer,
    Vectors,
    encodable,
    mean_vector,
    query_windows,
    unit_vectors,
)
from ingestion.errors import EmbeddingRejected

# Texts per yielded batch: about a second of work on two cores, so that progress is visible.
YIELDED = 32
# No token of common vocabularies is longer, so text surely beyond the window is not tokenized.
LONGEST_TOKEN = 100

Matrix = npt.NDArray[np.int64]


class LocalEmbedder(Embedder):
    """Embeds on this machine's CPU. Thread-safe; the session is created after a fork.

    Each text runs on one thread, `threads` texts at a time: as fast as batches that use all
    threads, and a text's vector does not depend on its neighbours (docs/adr/0009).
    """

    def __init__(self, config: LocalModelConfig) -> None:
        self._model = model = self._describe(config)
        self._threads = config.threads or usable_cores()
        self._encoder = encoder_of(model.tokenizer)
        # Shared, because a multilingual vocabulary takes 300 MB.
        self._tokenizer = ModelTokenizer(self._encoder)
        special = self._encoder.num_special_tokens_to_add(is_pair=False)
        self._room = model.window - special
        self._ends = ends_of_wordpiece(self._encoder)
        self._dense = dense_layer(model.dense) if model.dense else None
        prefix = self._tokenizer.count(model.document_prefix)
        self._card = ModelCard(
            name=model.name,
            fingerprint=model.fingerprint(),
            dimensions=model.dimensions,
            max_tokens=model.window - special - prefix,
            languages=config.languages or model.languages,
        )
        self._questions = self._question_model(config)
        self._session = PerProcess(self._open_session)
        self._pool = PerProcess(lambda: ThreadPoolExecutor(self._threads, "embedding"))
        self._ahead = PerProcess(lambda: ThreadPoolExecutor(1, "embedding-ahead"))

    def _question_model(self, config: LocalModelConfig) -> LocalEmbedder | None:
        """The model that embeds the questions, if it is another one, whose card is in this one's.

        Raises EmbeddingRejected if its vectors have other dimensions.
        """
        if not config.query_folder:
            return None
        other = replace(
            config, folder=config.query_folder, query_folder=None, pooling=None, max_tokens=None
        )
        questions, own = LocalEmbedder(other), self._card
        if questions.card.dimensions != own.dimensions:
            raise EmbeddingRejected(
                f"{questions.card.name} gives questions {questions.card.dimensions} dimensions, "
                f"{own.name} passages {own.dimensions}: choose two models of one space."
            )
        self._card = replace(own, fingerprint=f"{own.fingerprint}+{questions.card.fingerprint}")
        return questions

    def _describe(self, config: LocalModelConfig) -> LocalModel:
        if config.folder:
            return folder_model(Path(config.folder), config)
        return minilm_model(Path(config.models_dir))

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return self._card

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer."""
        return self._tokenizer

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], Vectors]]:
        """Begin at once, and yield batches of up to 32 texts in order; see the protocol.

        One batch is computed ahead, while the caller stores the one before it or does other work.
        """
        starts = iter(range(0, len(texts), YIELDED))

        def submit_next() -> tuple[range, Future[Vectors]] | None:
            start = next(starts, None)
            if start is None:
                return None
            indices = range(start, min(start + YIELDED, len(texts)))
            prefix = self._model.document_prefix
            batch = [prefix + texts[i] for i in indices]
            return indices, self._ahead.get().submit(self._embed, batch)

        def finished(
            first: tuple[range, Future[Vectors]] | None,
        ) -> Iterator[tuple[Sequence[int], Vectors]]:
            running = first
            try:
                while running is not None:
                    indices, vectors = running[0], running[1].result()
                    running = submit_next()
                    yield indices, vectors
            finally:
                if running is not None:
                    running[1].cancel()  # the caller has given up

        return finished(submit_next())

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        """Shape (dimensions,). `timeout` is not used: a query takes a few milliseconds.

        A long one takes up to four runs of the model, one a window and `threads` at a time.
        """
        if self._questions:
            return self._questions.embed_query(text)
        most = self._card.max_tokens - self._tokenizer.count(self._model.query_prefix)
        pieces, _ = query_windows(text, self._tokenizer, most)
        vectors = self._embed([self._model.query_prefix + piece for piece in pieces])
        return mean_vector(vectors, f"The model {self._card.name}")

    def _embed(self, texts: Sequence[str]) -> Vectors:
        encoded = [self._encode(text) for text in texts]
        # Longest first: the threads finish together.
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]), reverse=True)
        runs = [encoded[i] for i in order]
        # A single run needs no pool, and a worker with one thread never creates one.
        alone = self._threads == 1 or len(runs) == 1
        pooled = map(self._run, runs) if alone else self._pool.get().map(self._run, runs)
        vectors = np.empty((len(texts), self._card.dimensions), dtype=np.float32)
        for place, vector in zip(order, pooled, strict=True):
            vectors[place] = vector
        return vectors

    def _encode(self, text: str) -> Sequence[Any]:
        if self._ends and len(text) <= CACHED_CHARS:
            # WordPiece cuts at whitespace first, so that parts add up: the title and headings on
            # the first line, which chunks share, and the chunk, which was counted when it was cut.
            first, second = self._ends
            parts = [self._tokenizer.ids(part) for part in text.split("\n", 1)]
            return [first, *np.concatenate(parts)[: self._room].tolist(), second]
        window = encodable(text[: self._model.window * LONGEST_TOKEN])
        encoding = self._encoder.encode(window, add_special_tokens=False)
        encoding.truncate(self._room)
        ids: list[int] = self._encoder.post_process(encoding).ids
        return ids

    def _run(self, encoded: Sequence[Any]) -> Vectors:
        ids: Matrix = np.array([encoded], dtype=np.int64)
        mask = np.ones_like(ids)
        session, names = self._session.get()
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = session.run(names[:1], {name: inputs[name] for name in names[1:]})[0]
        return self._finished(self._pooled(states, mask))

    def _finished(self, pooled: npt.NDArray[np.float32]) -> Vectors:
        """The unit vectors after the model's dense layer, if it has one."""
        if self._dense is not None:
            weights, bias = self._dense
            pooled = pooled @ weights + bias
        return unit_vectors(pooled, f"The model {self._card.name}")

    def _pooled(self, states: npt.NDArray[np.float32], mask: Matrix) -> npt.NDArray[np.float32]:
        if self._model.pooling == "cls":
            return states[:, 0]
        # The divisor is never 0: every text has its special tokens.
        pooled: npt.NDArray[np.float32] = np.einsum(
            "btd,bt->bd", states, mask.astype(np.float32)
        ) / mask.sum(axis=1, keepdims=True)
        return pooled

    def _open_session(self) -> tuple[Any, list[str]]:
        """The onnxruntime session, and the names of its token-state output and of its inputs."""
        import onnxruntime  # a process that only reads the card never loads it

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only: its warnings concern its own optimiser
        weights = self._model.weights
        try:
            session = onnxruntime.InferenceSession(
                str(weights) if isinstance(weights, Path) else weights(),
                options,
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:  # its errors have no narrower base class
            raise EmbeddingRejected(
                f"The model {self._card.name} cannot be loaded: {error}. Copy its files again, "
                "or choose another model."
            ) from error
        return session, self._names(session)

    def _names(self, session: Any) -> list[str]:
        states = [output for output in session.get_outputs() if len(output.shape or ()) == 3]
        inputs = [field.name for field in session.get_inputs()]
        unknown = set(inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        width = states[0].shape[2] if states else None
        # A width that is not a number was left dynamic when the model was exported.
        expected = self._card.dimensions if self._dense is None else len(self._dense[0])
        wrong_width = isinstance(width, int) and width != expected
        if not states or unknown or wrong_width:
            raise EmbeddingRejected(
                f"The model {self._card.name} cannot be used: it must map input_ids, "
                "attention_mask and token_type_ids to token states of "
                f"{expected} dimensions. "
                "Export it with sentence-transformers' ONNX backend."
            )
        return [states[0].name, *inputs]
