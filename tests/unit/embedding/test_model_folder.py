"""A sentence-transformers ONNX folder in place of the packaged model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingestion.embedding import LocalModelConfig, minilm
from ingestion.embedding.local import LocalEmbedder
from ingestion.errors import EmbeddingRejected
from tests.support.dense_layers import write_dense

PASSAGES = ["A short one.", "A pump moves hydraulic fluid to the actuator. " * 8, "Two words"]


def write(folder: Path, name: str, content: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.fixture
def folder(tmp_path: Path, models_dir: Path) -> Path:
    """MiniLM as others would publish it: mean pooling, 64 tokens."""
    folder = tmp_path / "my-model"
    (folder / "onnx").mkdir(parents=True)
    shutil.copy(models_dir / minilm.BUILT, folder / "onnx" / "model.onnx")
    shutil.copy(minilm.tokenizer_file(models_dir), folder / "tokenizer.json")
    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": 384,
          "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})  # fmt: skip
    write(folder, "sentence_bert_config.json", {"max_seq_length": 64})
    write(folder, "modules.json", [{"type": f"sentence_transformers.models.{name}"}
          for name in ("Transformer", "Pooling", "Normalize")])  # fmt: skip
    return folder


def embedder_of(folder: Path, **options: Any) -> LocalEmbedder:
    return LocalEmbedder(LocalModelConfig(folder=str(folder), threads=2, **options))


def test_settings_are_read_from_the_model_folder(folder: Path) -> None:
    embedder = embedder_of(folder)
    assert embedder.card.name == "my-model"
    assert embedder.card.max_tokens == 62
    assert embedder.card.dimensions == 384
    assert embedder.card.languages == ()
    vectors = embedder.embed_documents(PASSAGES)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_folder_agrees_with_the_packaged_model(folder: Path, minilm: LocalEmbedder) -> None:
    ours = embedder_of(folder, max_tokens=256).embed_documents(PASSAGES)
    np.testing.assert_array_equal(ours, minilm.embed_documents(PASSAGES))


def test_prompts_are_prefixed_to_queries_and_documents(folder: Path) -> None:
    bare = embedder_of(folder)
    prompts = {"query": "query: ", "passage": "passage: "}
    write(folder, "config_sentence_transformers.json", {"prompts": prompts})
    prompted = embedder_of(folder)
    np.testing.assert_array_equal(prompted.embed_query("pump"), bare.embed_query("query: pump"))
    np.testing.assert_array_equal(
        prompted.embed_documents(["pump"]), bare.embed_documents(["passage: pump"])
    )
    assert prompted.card.max_tokens == bare.card.max_tokens - prompted.tokenizer.count("passage: ")
    assert prompted.card.fingerprint != bare.card.fingerprint
    overruled = embedder_of(folder, query_prefix="", document_prefix="")
    np.testing.assert_array_equal(overruled.embed_query("pump"), bare.embed_query("pump"))


def test_cls_pooling_takes_the_first_token(folder: Path) -> None:
    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": 384,
          "pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True})  # fmt: skip
    stated = embedder_of(folder)
    mean = embedder_of(folder, pooling="mean")
    assert abs(stated.embed_query("pump") @ mean.embed_query("pump")) < 0.99
    np.testing.assert_array_equal(
        stated.embed_query("pump"), embedder_of(folder, pooling="cls").embed_query("pump")
    )


def test_the_fingerprint_follows_the_weights(folder: Path) -> None:
    before = embedder_of(folder).card.fingerprint
    assert before == embedder_of(folder).card.fingerprint
    with (folder / "onnx" / "model.onnx").open("ab") as file:
        file.write(b"\0")
    assert embedder_of(folder).card.fingerprint != before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("1_Pooling/config.json", {"word_embedding_dimension": 384,
         "pooling_mode_max_tokens": True}, "does not state its pooling"),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": True}, "does not state its dim"),
        ("modules.json", [{"type": "sentence_transformers.models.CNN"}], "has a CNN module"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "missing or not linear"),
        ("modules.json", {"type": "x"}, "is damaged"),
    ],
)  # fmt: skip
def test_unusable_model_folder_names_the_reason(
    folder: Path, name: str, content: Any, message: str
) -> None:
    write(folder, name, content)
    with pytest.raises(EmbeddingRejected, match=message):
        embedder_of(folder)


def embedder_without_dense(folder: Path, texts: list[str]) -> np.ndarray:
    """The vectors of the folder's model if it had no dense layer."""
    modules = (folder / "modules.json").read_text()
    (folder / "modules.json").unlink()
    vectors = embedder_of(folder).embed_documents(texts)
    (folder / "modules.json").write_text(modules)
    return vectors


def with_dense(folder: Path, *, bias: bool, kind: str = "<f4") -> tuple[np.ndarray, np.ndarray]:
    """Give the folder's model a linear layer of 16 outputs; return its matrix and its bias."""
    chance = np.random.default_rng(3)
    weights, shift = chance.normal(size=(16, 384)).astype(kind), np.zeros(16, kind)
    arrays = {"linear.weight": weights}
    if bias:
        arrays["linear.bias"] = shift = chance.normal(size=16).astype(kind)
    write_dense(folder, arrays, out_features=16)
    write(folder, "modules.json", [{"type": f"sentence_transformers.models.{name}"}
          for name in ("Transformer", "Pooling", "Dense", "Normalize")])  # fmt: skip
    return weights.astype(np.float32), shift.astype(np.float32)


@pytest.mark.parametrize(("bias", "kind"), [(True, "<f4"), (False, "<f2")])
def test_dense_layer_follows_the_pooling(
    folder: Path, bias: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = embedder_of(folder).card.name
    weights, shift = with_dense(folder, bias=bias, kind=kind)
    model = embedder_of(folder)
    assert (model.card.dimensions, model.card.name) == (16, name)
    # The layer reads the mean of the tokens' states, before its length is made 1.
    means: list[np.ndarray] = []
    pooled = model._pooled

    def noted(*states: Any) -> np.ndarray:
        means.append(pooled(*states))
        return means[-1]

    monkeypatch.setattr(model, "_pooled", noted)
    vectors = np.stack([model.embed_documents([text])[0] for text in PASSAGES])
    expected = np.concatenate(means) @ weights.T + shift
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, expected / lengths, atol=1e-5)
    unit = np.concatenate(means) / np.linalg.norm(np.concatenate(means), axis=1, keepdims=True)
    np.testing.assert_allclose(unit, embedder_without_dense(folder, PASSAGES), atol=1e-5)
    write_dense(folder, {"linear.weight": 2 * weights}, out_features=16)
    assert embedder_of(folder).card.fingerprint != model.card.fingerprint


def test_damaged_dense_layer_is_named(folder: Path) -> None:
    weights, _ = with_dense(folder, bias=False)
    write_dense(folder, {"other": weights}, out_features=16)
    with pytest.raises(EmbeddingRejected, match=r"model\.safetensors cannot be read"):
        embedder_of(folder)
    write_dense(folder, {"linear.weight": weights}, out_features=16, activation="torch.nn.Tanh")
    with pytest.raises(EmbeddingRejected, match="not linear"):
        embedder_of(folder)


def test_questions_may_have_a_model_of_their_own(folder: Path, tmp_path: Path) -> None:
    """Both models' files are in the fingerprint; passages never go through the other."""
    other = shutil.copytree(folder, tmp_path / "for-questions")
    write(other, "config_sentence_transformers.json", {"prompts": {"query": "query: "}})
    alone, questions = embedder_of(folder), embedder_of(other)
    pair = embedder_of(folder, query_folder=str(other))
    np.testing.assert_array_equal(pair.embed_query("pump"), alone.embed_query("query: pump"))
    np.testing.assert_array_equal(pair.embed_documents(["pump"]), alone.embed_documents(["pump"]))
    assert pair.card.fingerprint == f"{alone.card.fingerprint}+{questions.card.fingerprint}"
    assert (pair.card.name, pair.card.max_tokens) == (alone.card.name, alone.card.max_tokens)
    with_dense(other, bias=True)
    with pytest.raises(EmbeddingRejected, match="16 dimensions, my-model passages 384"):
        embedder_of(folder, query_folder=str(other))


def test_wrong_number_of_dimensions_is_refused(folder: Path) -> None:
    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": 512,
          "pooling_mode_mean_tokens": True})  # fmt: skip
    with pytest.raises(EmbeddingRejected, match="512 dimensions"):
        embedder_of(folder).embed_query("pump")


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json"])
def test_missing_and_damaged_files_are_named(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"not a model")
    with pytest.raises(EmbeddingRejected, match="Copy"):
        embedder_of(folder).embed_query("pump")
    (folder / name).unlink()
    with pytest.raises(EmbeddingRejected, match=r"must contain tokenizer\.json and model\.onnx"):
        embedder_of(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingRejected, match=r"No model folder at .*check LOCAL_MODEL"):
        embedder_of(tmp_path / "nowhere")
