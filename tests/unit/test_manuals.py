"""The questions about other manuals are complete, and their archives are checked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import manuals


@pytest.mark.parametrize("name", manuals.MANUALS)
def test_every_judgement_is_of_a_question_and_every_question_has_its_answer(name: str) -> None:
    kinds, judged = manuals.kinds(name), list(manuals.grades(name))
    assert len(kinds) == 50
    assert max(Counter((query, section) for query, section, _ in judged).values()) == 1
    assert {grade for _, _, grade in judged} <= {1, 2, 3}
    answered = {query for query, _, grade in judged if grade >= 2}
    assert answered == {query for query, kind in kinds.items() if kind != "unanswerable"}


def test_an_archive_that_was_not_judged_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manual = manuals.MANUALS["celery"]
    page = tmp_path / "page.json"
    archive = tmp_path / manual.archive
    archive.write_bytes(b"another")
    page.write_text(
        f'{{"files": [{{"filename": "{manual.archive}", "url": "{archive.as_uri()}"}}]}}'
    )
    monkeypatch.setattr(manuals, "INDEX", page.as_uri() + "#")
    with pytest.raises(ValueError, match="SHA-256 differs"):
        manuals.download(manual, tmp_path / "downloads")
    assert not (tmp_path / "downloads" / manual.archive).exists()
