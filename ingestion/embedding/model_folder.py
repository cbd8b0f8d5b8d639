"""A sentence-transformers ONNX folder: its tokenizer, pooling, prefixes and limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
from tokenizers import Tokenizer as Encoder
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from ingestion.embedding.config import LocalModelConfig, Pooling
from ingestion.embedding.local_model import LocalModel
from ingestion.embedding.model_files import tensors
from ingestion.embedding.protocol import Vectors
from ingestion.errors import EmbeddingRejected

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
SUPPORTED_MODULES = ("Transformer", "Pooling", "Dense", "Normalize")
DENSE = "2_Dense"
DENSE_FILES = (f"{DENSE}/config.json", f"{DENSE}/model.safetensors")
DEFAULT_WINDOW = 512  # the usual window of BERT-like models


def folder_model(folder: Path, config: LocalModelConfig) -> LocalModel:
    """The folder's model: configured values override those of its files.

    Raises EmbeddingRejected for missing or unsupported files.
    """
    if not folder.is_dir():
        raise EmbeddingRejected(f"No model folder at {folder}: check LOCAL_MODEL_FOLDER.")
    model = next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)
    if model is None or not (folder / "tokenizer.json").is_file():
        raise EmbeddingRejected(
            f"The model folder {folder} must contain tokenizer.json and model.onnx (or "
            "onnx/model.onnx). Export the model with sentence-transformers' ONNX backend."
        )
    has_dense = "Dense" in _modules(folder)
    pooling = _read(folder, "1_Pooling/config.json")
    prompts = _read(folder, "config_sentence_transformers.json").get("prompts") or {}
    return LocalModel(
        name=folder.resolve().name,
        weights=model,
        languages=config.languages or (),
        tokenizer=folder / "tokenizer.json",
        dimensions=dense_size(folder) if has_dense else _dimensions(folder, pooling),
        dense=folder / DENSE_FILES[1] if has_dense else None,
        window=config.max_tokens or _window(folder),
        pooling=config.pooling or _pooling(folder, pooling),
        query_prefix=_prefix(config.query_prefix, prompts, "query"),
        document_prefix=_prefix(config.document_prefix, prompts, "document", "passage"),
    )


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    if not path.is_file():
        return {}
    try:
        fields = json.loads(path.read_bytes())
    except ValueError as error:
        raise EmbeddingRejected(
            f"{path} is not valid JSON: copy the model folder again."
        ) from error
    return fields if isinstance(fields, dict) else {}


def _modules(folder: Path) -> list[str]:
    """The kinds of the model's modules, if it states them. Raises EmbeddingRejected for others."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        types = [str(module["type"]).rpartition(".")[2] for module in json.loads(path.read_bytes())]
    except (ValueError, KeyError, TypeError) as error:
        raise EmbeddingRejected(f"{path} is damaged: copy the model folder again.") from error
    others = [name for name in types if name not in SUPPORTED_MODULES]
    if others:
        raise EmbeddingRejected(
            f"The model in {folder} has a {others[0]} module, which is not supported. Choose a "
            f"model of {', '.join(SUPPORTED_MODULES)} only, or use it through a server."
        )
    return types


def dense_size(folder: Path) -> int:
    """The dimensions after the model's dense layer. Raises EmbeddingRejected if not linear."""
    fields = _read(folder, DENSE_FILES[0])
    size, activation = fields.get("out_features"), str(fields.get("activation_function"))
    if not isinstance(size, int) or activation.rpartition(".")[2] != "Identity":
        raise EmbeddingRejected(
            f"The dense layer in {folder / DENSE} is missing or not linear, which is not "
            "supported: copy the model folder again, or use the model through a server."
        )
    return size


def dense_layer(path: Path) -> tuple[Vectors, Vectors]:
    """The matrix of a linear layer, a row for each input, and its bias, out of a safetensors file.

    Raises EmbeddingRejected.
    """
    try:
        found = {name: np.asarray(each, np.float32) for name, each in tensors(path)}
        weights = found["linear.weight"].T
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddingRejected(f"{path} cannot be read: copy the model folder again.") from error
    return weights, found.get("linear.bias", np.zeros(weights.shape[1], np.float32))


def _pooling(folder: Path, fields: dict[str, Any]) -> Pooling:
    modes = [mode for mode in ("mean", "cls") if fields.get(f"pooling_mode_{mode}_tokens")]
    modes += ["cls"] if fields.get("pooling_mode_cls_token") else []
    modes += [str(fields["pooling_mode"])] if "pooling_mode" in fields else []
    others = [key for key, on in fields.items() if key.startswith("pooling_mode_") and on is True]
    if len(modes) == 1 and modes[0] in ("mean", "cls") and len(others) <= 1:
        return cast(Pooling, modes[0])
    raise EmbeddingRejected(
        f"The model in {folder} does not state its pooling, or uses neither mean nor cls: "
        'set the model\'s pooling to "mean" or "cls" if its documentation names one of them.'
    )


def _dimensions(folder: Path, pooling: dict[str, Any]) -> int:
    number = (
        pooling.get("word_embedding_dimension")
        or pooling.get("embedding_dimension")
        or _read(folder, "config.json").get("hidden_size")
    )
    if not isinstance(number, int):
        raise EmbeddingRejected(
            f"The model folder {folder} does not state its dimensions: "
            "add the model's own 1_Pooling/config.json or config.json."
        )
    return number


def _window(folder: Path) -> int:
    """The model's window in tokens, special tokens included."""
    number = _read(folder, "sentence_bert_config.json").get("max_seq_length") or _read(
        folder, "tokenizer_config.json"
    ).get("model_max_length")
    # Tokenizers without a limit report a number as large as 1e30.
    return number if isinstance(number, int) and number < 1_000_000 else DEFAULT_WINDOW


def _prefix(wished: str | None, prompts: dict[str, Any], *names: str) -> str:
    if wished is not None:
        return wished
    return next((str(prompts[name]) for name in names if prompts.get(name)), "")


def encoder_of(tokenizer: Path) -> Encoder:
    """The tokenizer of a file. Raises EmbeddingRejected."""
    try:
        return Encoder.from_file(str(tokenizer))
    except Exception as error:  # the library raises bare Exception
        raise EmbeddingRejected(
            f"The tokenizer {tokenizer} cannot be read: {error}. Copy the file again."
        ) from error


def ends_of_wordpiece(encoder: Encoder) -> tuple[int, int] | None:
    """The tokens before and after a text, if the tokenizer is BERT's; else None."""
    normalizer, cutter = encoder.normalizer, encoder.pre_tokenizer
    if not (isinstance(normalizer, BertNormalizer) and isinstance(cutter, BertPreTokenizer)):
        return None
    ends = encoder.post_process(encoder.encode("", add_special_tokens=False)).ids
    around = encoder.post_process(encoder.encode("a", add_special_tokens=False)).ids
    is_around = len(ends) == 2 and (around[0], around[-1]) == tuple(ends)
    return (int(ends[0]), int(ends[1])) if is_around else None
