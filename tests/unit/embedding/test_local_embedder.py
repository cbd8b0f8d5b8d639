"""The local embedder with the real MiniLM model."""

from __future__ import annotations

import base64
import importlib.metadata
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest

from ingestion.embedding import EmbedderConfig, build_embedder
from ingestion.embedding import minilm as packaged
from ingestion.embedding.local import LocalEmbedder
from ingestion.embedding.protocol import Vectors, encodable
from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable
from search.engine.similarity_background import PROBES, scale_of
from search.ranking.cosine_scale import MINILM

if TYPE_CHECKING:
    from tests.unit.embedding.conftest import FirstStart

ROOT = Path(__file__).parents[3]

TEXTS = [
    "How do I reset my password?",
    "Ways to recover a forgotten login credential.",
    "The liver converts glucose into glycogen after a meal. " * 6,
    "Glycogen is stored by hepatocytes when blood sugar is high.",
    "A pump moves hydraulic fluid from the reservoir to the actuator.",
    "x",
    "",
]


def test_vectors_have_the_cards_shape_and_length_1(minilm: LocalEmbedder) -> None:
    vectors = minilm.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), minilm.card.dimensions) == (7, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_scale_of_its_cosines_is_the_one_of_the_weights(minilm: LocalEmbedder) -> None:
    questions = np.stack([minilm.embed_query(probe) for probe in PROBES])
    assert scale_of(questions, minilm.embed_documents(PROBES)) == MINILM


def test_empty_list_of_texts_gives_no_rows(minilm: LocalEmbedder) -> None:
    assert minilm.embed_documents([]).shape == (0, 384)
    assert list(minilm.embed_batches([])) == []


def test_vector_of_a_text_is_independent_of_its_batch(minilm: LocalEmbedder) -> None:
    together = minilm.embed_documents(TEXTS)
    alone = np.stack([minilm.embed_query(text) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together[::-1], minilm.embed_documents(TEXTS[::-1]))


def test_batches_come_in_order_and_cover_each_text_once(minilm: LocalEmbedder) -> None:
    texts = [f"Part number {i}" for i in range(70)]
    batches = list(minilm.embed_batches(texts))
    assert [i for indices, _ in batches for i in indices] == list(range(70))
    assert len(batches) > 1
    assert all(len(indices) == len(vectors) for indices, vectors in batches)
    np.testing.assert_array_equal(batches[2][1][0], minilm.embed_query(texts[batches[2][0][0]]))


ODD = (
    "e\u0301",
    "\u0301x",
    "\u03a3\n\u03a3\u0391",
    "\u65e5\u672c",
    "\ud800",
    "##a",
    "[CLS]",
    "a\r\nb",
    "\u200d",
)


def test_the_tokens_of_parts_are_those_of_the_whole(minilm: LocalEmbedder) -> None:
    """A chunk is not read again for its vector: its tokens were counted when it was cut."""
    body = "The pump's D-40 valve, \u00e9t\u00e9 2024: f(x) != naively_named " * 12
    texts = [
        f"{one} Title > A\n{other}{body[:size]}"
        for one in ODD
        for other in ODD
        for size in (9, 700)
    ]
    texts += ["", "\n", "\nx", "x\n", body, *(f"{one}\n" for one in ODD)]
    encoder = minilm._encoder
    for text in texts:
        whole = encoder.encode(encodable(text), add_special_tokens=False)
        whole.truncate(254)
        assert minilm._encode(text) == encoder.post_process(whole).ids, text


def test_error_of_the_model_is_raised_to_the_caller(minilm: LocalEmbedder) -> None:
    def broken(encoded: Sequence[Sequence[int]]) -> Vectors:
        raise EmbeddingRejected("broken")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minilm, "_run", broken)
        batches = minilm.embed_batches(["One part"] * 70)
        with pytest.raises(EmbeddingRejected, match="broken"):
            next(batches)


def test_a_paraphrase_is_closer_than_another_topic(minilm: LocalEmbedder) -> None:
    cosine = (lambda v: v @ v.T)(minilm.embed_documents(TEXTS))
    assert cosine[0, 1] > 0.5 > 0.2 > cosine[0, 4]
    assert cosine[2, 3] > 0.5 > 0.2 > cosine[2, 0]


def test_text_beyond_the_window_changes_nothing(minilm: LocalEmbedder) -> None:
    words = ["pump"] * minilm.card.max_tokens
    window, beyond, within = minilm.embed_documents(
        [" ".join(words), " ".join([*words, "glucose"] * 50), " ".join([*words[1:], "glucose"])]
    )
    np.testing.assert_array_equal(window, beyond)
    assert not np.array_equal(window, within)


def test_vector_of_a_long_question_is_the_mean_of_its_windows(minilm: LocalEmbedder) -> None:
    halves = ["pump " * 200, "glucose " * 200]
    vectors = minilm.embed_documents([half.strip() for half in halves])
    mean = vectors.mean(axis=0)
    long = minilm.embed_query("".join(halves))
    np.testing.assert_allclose(long, mean / np.linalg.norm(mean), atol=1e-6)


def test_a_question_beyond_all_windows_is_read_to_their_end(minilm: LocalEmbedder) -> None:
    words = ["pump"] * (4 * minilm.card.max_tokens)
    long = minilm.embed_query(" ".join([*words, "glucose", "metabolism"]))
    np.testing.assert_allclose(long, minilm.embed_query(" ".join(words)), atol=1e-6)
    assert np.linalg.norm(long) == pytest.approx(1, abs=1e-5)


def test_threads_share_one_embedder(minilm: LocalEmbedder) -> None:
    queries = [f"question number {i}" for i in range(24)]
    expected = [minilm.embed_query(query) for query in queries]
    with ThreadPoolExecutor(6) as pool:
        np.testing.assert_array_equal(list(pool.map(minilm.embed_query, queries)), expected)


def test_odd_text_is_embedded(minilm: LocalEmbedder) -> None:
    odd = ["\x00\x01", "half \ud800 a pair", "🙂" * 500, "[CLS] [SEP] [MASK]", "\n\t "]
    assert np.isfinite(minilm.embed_documents(odd)).all()


def test_vectors_are_those_of_spaces_that_an_earlier_version_filled(minilm: LocalEmbedder) -> None:
    """Version 0.2.0's cosines. A graph that onnxruntime fuses in another way differs by .008."""
    vectors = minilm.embed_documents(TEXTS[:5])
    earlier = [0.5544, -0.0496, -0.0154, -0.0228, -0.0481, 0.0273, -0.0474, 0.6152, 0.1143, 0.0436]
    cosines = (vectors @ vectors.T)[np.triu_indices(5, 1)]
    np.testing.assert_allclose(cosines, earlier, atol=1e-3)


def test_the_quantized_model_keeps_the_meaning_of_the_published_one(
    minilm: LocalEmbedder, models_dir: Path
) -> None:
    published = onnxruntime.InferenceSession(
        packaged.float_model(packaged.weights_file(models_dir)).SerializeToString(),
        providers=["CPUExecutionProvider"],
    )

    def published_vector(text: str) -> np.ndarray:
        ids = np.array([minilm._encode(text)])
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        states = published.run(None, {**inputs, "token_type_ids": np.zeros_like(ids)})[0]
        pooled = states[0].mean(axis=0)
        return pooled / np.linalg.norm(pooled)

    texts = TEXTS[:5]
    cosines = np.sum(minilm.embed_documents(texts) * [published_vector(t) for t in texts], axis=1)
    assert cosines.min() > 0.98
    assert cosines.max() < 0.999999  # they are two models, and must not share a space


def test_onnxruntime_keeps_no_device_id_and_no_events_to_send(first_start: FirstStart) -> None:
    assert [path for path in first_start.home.rglob("*") if path.is_file()] == []


def test_processes_that_start_at_once_build_one_model(first_start: FirstStart) -> None:
    assert first_start.exit_codes == [0, 0, 0], first_start.errors
    assert len(set(first_start.answers)) == 1
    assert first_start.errors == ["", "", ""]
    kept = {path.name for path in first_start.models_dir.iterdir()}
    assert kept == {packaged.BUILT, f"{packaged.BUILT}.sha256", f"{packaged.BUILT}.lock"}


@pytest.fixture
def counted_builds(monkeypatch: pytest.MonkeyPatch, models_dir: Path) -> list[Path]:
    """The targets of builds, each made by copying the session's model."""
    built: list[Path] = []
    model = (models_dir / packaged.BUILT).read_bytes()

    def build(source: Path, target: Path) -> None:
        built.append(target)
        time.sleep(0.05)  # long enough for a second builder to come in, if one could
        target.write_bytes(model)

    monkeypatch.setattr(packaged, "build", build)
    return built


@pytest.mark.parametrize("damage", ["model", "checksum", "no checksum", "truncated"])
def test_a_damaged_model_is_built_again(
    tmp_path: Path, counted_builds: list[Path], damage: str
) -> None:
    sound = packaged.prepared_model(tmp_path)
    assert packaged.prepared_model(tmp_path) == sound
    assert len(counted_builds) == 1
    model = tmp_path / packaged.BUILT
    checksum = tmp_path / f"{packaged.BUILT}.sha256"
    if damage == "model":
        model.write_bytes(sound[:1000] + b"\xff" + sound[1001:])
    elif damage == "truncated":
        model.write_bytes(sound[: len(sound) // 2])
    elif damage == "checksum":
        checksum.write_bytes(b"\xff\xfe")
    else:
        checksum.unlink()
    assert packaged.prepared_model(tmp_path) == sound
    assert len(counted_builds) == 2
    assert model.read_bytes() == sound


def test_killed_build_leaves_no_model_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(source: Path, target: Path) -> None:
        target.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(packaged, "build", die)
    with pytest.raises(KeyboardInterrupt):
        packaged.prepared_model(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{packaged.BUILT}.lock"]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages in place of those that are installed, with a tokenizer in one."""
    folder = tmp_path / "site-packages"
    (folder / "other").mkdir(parents=True)
    shutil.copy(packaged.tokenizer_file(tmp_path), folder / "other" / "words.json")
    info = folder / "other_model-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-model\nVersion: 2.0\n")
    digest = base64.urlsafe_b64encode(bytes.fromhex(packaged.TOKENIZER_SHA256)).decode().strip("=")
    (info / "RECORD").write_text(f"other/words.json,sha256={digest},466247\n")
    found = list(importlib.metadata.distributions(path=[str(folder)]))
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: found)
    return folder


def test_any_package_with_the_file_will_do(packages: Path, tmp_path: Path) -> None:
    assert packaged.tokenizer_file(tmp_path) == packages / "other" / "words.json"


def test_a_copy_in_the_models_folder_needs_no_package(packages: Path, tmp_path: Path) -> None:
    copy = tmp_path / "minilm" / "tokenizer.json"
    copy.parent.mkdir()
    (packages / "other" / "words.json").rename(copy)
    assert packaged.tokenizer_file(tmp_path) == copy


def test_a_file_that_is_not_the_listed_one_is_refused(packages: Path, tmp_path: Path) -> None:
    (packages / "other" / "words.json").write_text("{}")
    with pytest.raises(EmbeddingRejected, match=r"words.json differs .* expected be50c3628f2b"):
        packaged.tokenizer_file(tmp_path)


def test_a_model_that_is_not_installed_is_named(packages: Path, tmp_path: Path) -> None:
    with pytest.raises(EmbeddingRejected, match=r"no package has its model\.safetensors.*Run: pip"):
        packaged.prepared_model(tmp_path)


def test_a_models_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddingUnavailable, match="file"):
        packaged.prepared_model(tmp_path / "file" / "models")


FORKED = """
import os, sys
from ingestion.embedding import EmbedderConfig, build_embedder
texts = ["one", "two", "three", "four"]
embedder = build_embedder(EmbedderConfig.of("local", models_dir=sys.argv[1], threads=2))
before = embedder.embed_documents(texts)
child = os.fork()
if child == 0:
    same = (embedder.embed_documents(texts) == before).all()
    os._exit(0 if same else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(sys, "abiflags"), reason="Windows has no fork")
def test_a_forked_child_embeds_too(models_dir: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(models_dir)]
    assert subprocess.run(command, cwd=ROOT, timeout=60, check=False).returncode == 0


def test_the_card_says_what_the_model_knows(models_dir: Path) -> None:
    config = EmbedderConfig.of("local", models_dir=models_dir)
    card = build_embedder(config).card
    assert card.languages == ("en",)
    assert card.max_tokens == 254  # 256 with [CLS] and [SEP]
    # Of every space since 0.1.0: with another one they would all be embedded again.
    assert card.fingerprint == "all-MiniLM-L6-v2-int8-dynamic-8199be6f699a-r1"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("local", {"threads": -1}, "threads is -1"),
        ("local", {"pooling": "max"}, 'Unknown pooling "max"'),
    ],
)
def test_senseless_settings_are_refused(
    kind: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(EmbeddingRejected, match=message):
        EmbedderConfig.of(kind, **options)
