"""Models that fastembed (Qdrant's, Apache-2.0) runs in this process: embedders and cross-encoders.

The extra `fastembed`. The files of a model are read in MODELS_DIR/NAME, such as
MODELS_DIR/BAAI/bge-small-en-v1.5, if there is such a folder. Otherwise they are fetched from the
Hugging Face hub into MODELS_DIR/fastembed, once (docs/adr/0009).
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common.circuit_breaker import CircuitBreaker
from ingestion.embedding.config import LocalModelConfig
from ingestion.embedding.local import LocalEmbedder
from ingestion.embedding.local_model import LocalModel
from ingestion.embedding.model_folder import DENSE_FILES, dense_size
from ingestion.embedding.protocol import Vectors, encodable
from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable

COMMAND = "make install EXTRAS=fastembed"
# fastembed asks the hub for 40 seconds before it gives up: not for each search. A guess.
HUB_PAUSE = 300.0

_hub = CircuitBreaker(HUB_PAUSE)


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that people choose. `languages` are ISO 639-1 codes; empty means multilingual.

    The prefixes are those of the model's card, which fastembed leaves to its callers.
    """

    name: str
    gigabytes: float
    licence: str
    languages: tuple[str, ...] = ("en",)
    query_prefix: str = ""
    document_prefix: str = ""


_BGE = "Represent this sentence for searching relevant passages: "
_BGE_ZH = "为这个句子生成表示以用于检索相关文章："
# Not of fastembed's own list, see `_class_of`.
E5_SMALL = "intfloat/multilingual-e5-small"
LEAF = "MongoDB/mdbr-leaf-ir"

# Of fastembed's list those for text whose licence allows any use; other names of it work, too.
EMBEDDERS = (
    Offer("BAAI/bge-small-en-v1.5", 0.067, "MIT", query_prefix=_BGE),
    Offer("snowflake/snowflake-arctic-embed-xs", 0.09, "Apache-2.0", query_prefix=_BGE),
    Offer(LEAF, 0.09, "Apache-2.0", query_prefix=_BGE),
    Offer("snowflake/snowflake-arctic-embed-s", 0.13, "Apache-2.0", query_prefix=_BGE),
    Offer(
        "nomic-ai/nomic-embed-text-v1.5-Q", 0.13, "Apache-2.0",
        query_prefix="search_query: ", document_prefix="search_document: ",
    ),
    Offer("ibm-granite/granite-embedding-small-english-r2", 0.18, "Apache-2.0"),
    Offer("BAAI/bge-base-en-v1.5", 0.21, "MIT", query_prefix=_BGE),
    Offer("mixedbread-ai/mxbai-embed-large-v1", 0.64, "Apache-2.0", query_prefix=_BGE),
    Offer("BAAI/bge-small-zh-v1.5", 0.09, "MIT", ("zh",), _BGE_ZH),
    Offer("jinaai/jina-embeddings-v2-base-de", 0.64, "Apache-2.0", ("de", "en")),
    Offer("jinaai/jina-embeddings-v2-base-es", 0.64, "Apache-2.0", ("es", "en")),
    Offer(
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", 0.22, "Apache-2.0", ()
    ),
    Offer(E5_SMALL, 0.47, "MIT", (), "query: ", "passage: "),
    Offer("intfloat/multilingual-e5-large", 2.24, "MIT", (), "query: ", "passage: "),
)  # fmt: skip
RERANKERS = (
    Offer("Xenova/ms-marco-MiniLM-L-6-v2", 0.08, "Apache-2.0"),
    Offer("Xenova/ms-marco-MiniLM-L-12-v2", 0.12, "Apache-2.0"),
    Offer("jinaai/jina-reranker-v1-turbo-en", 0.15, "Apache-2.0"),
    Offer("BAAI/bge-reranker-v2-m3-int8", 0.57, "Apache-2.0", ()),
    Offer("BAAI/bge-reranker-base", 1.04, "MIT", ("en", "zh")),
)


def require_installed() -> None:
    """Raise EmbeddingRejected if fastembed is missing; loads nothing."""
    if importlib.util.find_spec("fastembed") is None:
        raise EmbeddingRejected(
            f"fastembed, which runs the model, is not installed. Run: {COMMAND} (of a wheel: its "
            "extra fastembed)"
        )


def cross_encoder(name: str, models_dir: Path, threads: int) -> Any:
    """fastembed's TextCrossEncoder, loaded. Raises EmbeddingError."""
    return _loaded(_model("TextCrossEncoder", name, models_dir, threads))


class FastembedEmbedder(LocalEmbedder):
    """Embeds with fastembed's tokenizer, pooling and session, on the threads of LocalEmbedder."""

    def _describe(self, config: LocalModelConfig) -> LocalModel:
        name = config.model or ""
        self._files = Path(config.models_dir)
        runner = _model("TextEmbedding", name, self._files).model
        offer = next((each for each in EMBEDDERS if each.name == name), Offer(name, 0, ""))
        has_dense = name == LEAF
        return LocalModel(
            name=name,
            weights=runner._model_dir / runner.model_description.model_file,
            tokenizer=runner._model_dir / "tokenizer.json",
            dimensions=(
                dense_size(runner._model_dir) if has_dense else runner.model_description.dim
            ),
            dense=runner._model_dir / DENSE_FILES[1] if has_dense else None,
            window=_window(runner._model_dir),
            languages=offer.languages,
            # Its versions pooled some models in different ways, in classes of these names.
            pooling=type(runner).__name__,
            query_prefix=offer.query_prefix if config.query_prefix is None else config.query_prefix,
            document_prefix=(
                offer.document_prefix if config.document_prefix is None else config.document_prefix
            ),
        )

    def _encode(self, text: str) -> str:
        return encodable(text)

    def _run(self, encoded: Any) -> Vectors:
        return self._finished(np.stack(list(self._session.get()[0].embed([encoded]))))

    def _open_session(self) -> tuple[Any, list[str]]:
        return _loaded(_model("TextEmbedding", self._model.name, self._files)), []


def _window(folder: Path) -> int:
    """The tokens that fastembed reads of a text. Raises EmbeddingRejected."""
    from fastembed.common.preprocessor_utils import load_tokenizer

    try:
        return int((load_tokenizer(folder)[0].truncation or {})["max_length"])
    except Exception as error:  # the tokenizer's are bare Exception
        raise EmbeddingRejected(
            f"The tokenizer in {folder} cannot be read: {error}. Copy the model's files again."
        ) from error


def _model(kind: str, name: str, models_dir: Path, threads: int = 1) -> Any:
    """fastembed's object of this kind with its files here, not loaded. Raises EmbeddingError."""
    require_installed()
    # The tokenizer's own threads do not survive a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    cls = _class_of(kind)
    names = {each["model"].lower(): each["model"] for each in cls.list_supported_models()}
    if name.lower() not in names:
        raise EmbeddingRejected(
            f'fastembed has no model "{name}" of this kind: choose one of those that the admin '
            "lists under Embedding spaces, or of fastembed's own list."
        )
    folder, is_offline = models_dir / names[name.lower()], _hub.is_open
    try:
        return cls(
            name,
            cache_dir=str(models_dir / "fastembed"),
            threads=threads,
            providers=["CPUExecutionProvider"],
            lazy_load=True,
            specific_model_path=str(folder) if folder.is_dir() else None,
            local_files_only=is_offline,
        )
    except (OSError, ValueError) as error:
        if not is_offline:
            _hub.trip()
        raise EmbeddingUnavailable(
            f"The files of the model {name} could not be fetched from the Hugging Face hub "
            f"({error}). Where it cannot be reached, copy them from another machine to {folder}."
        ) from error


def _class_of(kind: str) -> Any:
    """TextEmbedding, which then knows the models of our own, or TextCrossEncoder."""
    import fastembed
    from fastembed.common.model_description import ModelSource, PoolingType
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    cls = fastembed.TextEmbedding
    known = {each["model"] for each in cls.list_supported_models()}
    for name, normalised, files in ((E5_SMALL, True, ()), (LEAF, False, DENSE_FILES)):
        if name not in known:
            cls.add_custom_model(
                name, PoolingType.MEAN, normalised, ModelSource(hf=name), dim=384,
                additional_files=list(files),
            )  # fmt: skip
    return TextCrossEncoder if kind == "TextCrossEncoder" else cls


def _loaded(model: Any) -> Any:
    try:
        model.model.load_onnx_model()
    except Exception as error:  # onnxruntime's have no narrower base class
        raise EmbeddingRejected(
            f"The model {model.model_name} cannot be loaded: {error}. Copy its files again, or "
            "choose another model."
        ) from error
    return model
