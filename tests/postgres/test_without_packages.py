"""The site without the packages that one person maintains: own servers, an own model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ingestion.embedding import minilm
from kbsite.embedded import EmbeddedServers
from tests.support.without_packages import GONE, of_tests, pinned

ROOT = Path(__file__).resolve().parents[2]
NOTE = "# Levers\n\nThe steelyard's lever is balanced by sliding a weight along its beam.\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder as sentence-transformers exports it, in no package."""
    folder = tmp_path / "own-model"
    (folder / "1_Pooling").mkdir(parents=True)
    nowhere = tmp_path / "no-files"
    minilm.build(minilm.weights_file(nowhere), folder / "model.onnx")
    shutil.copy(minilm.tokenizer_file(nowhere), folder / "tokenizer.json")
    pooling = {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def bare_site(model: Path, servers: EmbeddedServers, var: Path) -> dict[str, Any]:
    """What `tests.support.without_packages` prints, on servers known by their addresses."""
    known = connection.settings_dict
    database = f"postgres://{known['USER']}@/{known['NAME']}?host={known['HOST']}"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "kbsite.settings",
        "DATABASE_URL": f"{database}&port={known['PORT']}",
        # A server of one's own, where there is one: any Redis or Valkey.
        "REDIS_URL": os.environ.get("TEST_REDIS_URL") or f"unix://{servers.redis_socket}",
        "LOCAL_MODEL_FOLDER": str(model),
        "MODELS_DIR": str(var / "models"),
        "STEELYARD_VAR": str(var),
        "SECRET_KEY": "of the bare site",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.without_packages"],
        cwd=ROOT,
        env=environment,
        input=NOTE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.django_db(transaction=True)
def test_a_note_is_ingested_and_found(
    model: Path, servers: EmbeddedServers, tmp_path: Path
) -> None:
    found = bare_site(model, servers, tmp_path / "var")
    assert found == {
        "state": "ready",
        "titles": ["Levers"],
        "degraded": [],
        "space": "own-model",
        "cached": "kept",
        "errors": [],
        # Nothing of a request or of an ingestion even asks for them.
        "asked": [],
    }


def test_each_package_that_is_removed_is_one_that_is_installed() -> None:
    """Else the test above would prove nothing of a package that was renamed."""
    assert set(GONE) <= pinned("requirements.txt")
    assert {"pytest", "qdrant_client", "fastembed"} <= of_tests()
