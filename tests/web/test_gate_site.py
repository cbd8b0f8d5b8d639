"""`manage.py evaluate --gate FILE --site URL`: another site, asked by its API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common.accounts import tokens
from common.accounts.models import User
from tests.postgres.test_gate_file import DOCUMENTS, refusal, run
from tests.support.factories import make_collection, make_document
from tests.support.live_site import live_site


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("clean_cache")
def test_gate_asks_another_site_by_its_api(
    administrator: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = make_collection("Village", visibility="signed_in")
    for name in ("tides", "bakery"):
        make_document(shelf, DOCUMENTS[name], file_name=f"{name}.md")
    path, here = tmp_path / "golden.yml", tmp_path / "here.json"
    questions = [
        {"question": "when is the sea at its highest", "first": "tides.md"},
        {"question": "warning of a flood", "grades": {"tides.md#Storm surges": 3}},
    ]
    path.write_text(json.dumps({"collections": ["village"], "questions": questions}))
    run("--gate", path, "--json", here)
    with live_site() as address:
        remote = ("--gate", path, "--site", address, "--json", tmp_path / "there.json")
        unread = refusal(*remote)
        assert unread.returncode == 1  # a visitor finds nothing
        monkeypatch.setenv("STEELYARD_TOKEN", "nonsense")
        assert "scope `read` in STEELYARD_TOKEN" in str(refusal(*remote))
        monkeypatch.setenv("STEELYARD_TOKEN", tokens.make(administrator, scopes=["read"])[1])
        assert "The gate passes" in run(*remote, "--against", here)
        there = json.loads((tmp_path / "there.json").read_text())
        assert there["values"] == json.loads(here.read_text())["values"]
        worse = refusal(*remote, "--against", here, "--profile", "keyword-only")
        assert worse.returncode == 1
        assert "nobody" in str(refusal(*remote, "--profile", "nobody"))
    gone = refusal(*remote)
    assert (gone.returncode, "does not answer" in str(gone)) == (2, True)
