"""The demo's documents: our samples, and Django's manual out of an archive."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import django
import pytest

from ingestion.files.filetypes import sniff
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.protocol import title_from_file_name
from kbsite.demo.documents import DocsUnavailable, SourceFile, django_docs, samples

RELEASE = "django-" + ".".join(django.get_version().split(".")[:2])


def heard(line: str) -> None:
    """Takes a line that the demo would print."""


def archive(folder: Path, *paths: str) -> Path:
    path = folder / f"Django-{django.get_version()}.tar.gz"
    with tarfile.open(path, "w:gz") as members:
        for name in paths:
            member = tarfile.TarInfo(name)
            member.size = len(name.encode())
            members.addfile(member, io.BytesIO(name.encode()))
    return path


@pytest.mark.parametrize("file", samples(), ids=lambda file: file.file_name)
def test_sample_is_read_without_warnings(tmp_path: Path, file: SourceFile) -> None:
    path = tmp_path / file.file_name
    path.write_bytes(file.content)
    parsed = parse_file(path, file.file_name)

    assert sniff(file.content, file.file_name).extension == path.suffix
    assert {block.kind.value for block in parsed.blocks} >= {"heading", "paragraph"}
    assert parsed.warnings == ()


def test_each_format_and_each_case_is_there() -> None:
    files = {file.file_name: file for file in samples()}
    texts = b"\n".join(file.content for file in files.values() if file.file_name[-2:] in "md html")

    assert {Path(name).suffix for name in files} == {".md", ".html", ".docx", ".pdf"}
    for case in (b"Aboleth", b"PII-2024-0042", b"SLAM", b"EKF", b"FK", b"VectorStore"):
        assert case in texts
    assert "Distributed Systems for practitioners" in map(title_from_file_name, files)


def test_manual_without_release_notes_and_layout(tmp_path: Path) -> None:
    archive(
        tmp_path,
        "django/docs/ref/models/querysets.txt",
        "django/docs/index.txt",
        "django/docs/releases/5.2.txt",
        "django/docs/_theme/LICENSE.txt",
        "django/docs/conf.py",
        "django/django/db/notes.txt",
        "../docs/outside.txt",
    )
    found = django_docs(tmp_path, heard)

    assert [(file.source, file.file_name) for file in found] == [
        (f"{RELEASE}/index.txt", "index.rst"),
        (f"{RELEASE}/outside.txt", "outside.rst"),
        (f"{RELEASE}/ref/models/querysets.txt", "querysets.rst"),
    ]
    assert found[2].content == b"django/docs/ref/models/querysets.txt"


def test_damaged_archive_is_removed_and_said(tmp_path: Path) -> None:
    path = archive(tmp_path, "django/docs/index.txt")
    path.write_bytes(path.read_bytes()[:60])

    with pytest.raises(DocsUnavailable, match=r"was damaged .* Run this command again"):
        django_docs(tmp_path, heard)
    assert not path.exists()


def test_no_network_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")

    with pytest.raises(DocsUnavailable, match="--corpus samples"):
        django_docs(tmp_path / "demo", heard)
    assert list((tmp_path / "demo").iterdir()) == []
