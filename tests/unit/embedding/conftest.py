"""The prepared MiniLM, built once a test run, by three processes that start at once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingestion.embedding import LocalModelConfig
from ingestion.embedding.local import LocalEmbedder

ROOT = Path(__file__).parents[3]

FIRST_START = """
import sys
from ingestion.embedding import EmbedderConfig, build_embedder
embedder = build_embedder(EmbedderConfig.of("local", models_dir=sys.argv[1], threads=1))
print(embedder.embed_query("the same question").tobytes().hex())
"""


@dataclass(frozen=True)
class FirstStart:
    """What the processes left and said."""

    models_dir: Path
    home: Path
    exit_codes: list[int]
    answers: list[str]
    errors: list[str]


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> FirstStart:
    models_dir = tmp_path_factory.mktemp("var") / "models with a space"
    home = tmp_path_factory.mktemp("home")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", FIRST_START, str(models_dir)],
            cwd=ROOT,
            env={"HOME": str(home)},  # without CI, where onnxruntime reports nothing anyway
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=120) for process in started]
    return FirstStart(
        models_dir,
        home,
        [process.returncode for process in started],
        [out for out, _ in said],
        [error for _, error in said],
    )


@pytest.fixture(scope="session")
def models_dir(first_start: FirstStart) -> Path:
    return first_start.models_dir


@pytest.fixture(scope="session")
def minilm(models_dir: Path) -> LocalEmbedder:
    return LocalEmbedder(LocalModelConfig(models_dir=models_dir, threads=2))
