"""Search on two manuals of other hands than Django's, in other markup.

    python -m benchmarks.manuals
    python -m benchmarks.manuals celery --profile default rrf keyword-only vector-only --questions

Everything after the names goes to `benchmarks.questions`. The manuals are those of Celery (reST)
and FastAPI (Markdown), out of their source distributions on PyPI, whose hashes are checked.
README.md in this folder says how the questions were written and judged.
"""

from __future__ import annotations

import csv
import hashlib
import json
import tarfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.temporary_site import ROOT

HERE = Path(__file__).parent
INDEX = "https://pypi.org/simple/"


@dataclass(frozen=True, slots=True)
class Manual:
    """The pages of a project's manual in one source distribution."""

    project: str
    version: str
    sha256: str
    folder: str
    suffix: str
    excluded: tuple[str, ...] = ()

    @property
    def archive(self) -> str:
        return f"{self.project}-{self.version}.tar.gz"


MANUALS = {
    "celery": Manual(
        "celery", "5.7.0", "6a5dfcf6662287204f009a02002b9e66c83d4105e47ebabdc7079108772fc6f0",
        "docs", ".rst", ("history", "includes", "internals", "reference", "templates", "_ext",
         "changelog.rst", "contributing.rst", "getting-started/resources.rst"),
    ),
    "fastapi": Manual(
        "fastapi", "0.99.1", "ac78f717cd80d657bd183f94d33b9bda84aa376a46a9dab513586b8eef1dc6fc",
        "docs/en/docs", ".md", ("release-notes.md", "external-links.md", "fastapi-people.md"),
    ),
}  # fmt: skip


def download(manual: Manual, folder: Path) -> Path:
    """The archive in `folder`, fetched from PyPI if it is not there. Raises ValueError."""
    path = folder / manual.archive
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        page = f"{INDEX}{manual.project}/"
        headers = {"Accept": "application/vnd.pypi.simple.v1+json"}
        with urllib.request.urlopen(urllib.request.Request(page, headers=headers)) as answer:
            files = json.load(answer)["files"]
        url = next(file["url"] for file in files if file["filename"] == manual.archive)
        with urllib.request.urlopen(url) as answer:
            content = answer.read()
        if hashlib.sha256(content).hexdigest() != manual.sha256:
            raise ValueError(f"{url} is not the archive that was judged: its SHA-256 differs.")
        path.write_bytes(content)
    return path


def pages(manual: Manual, archive: Path) -> Iterator[tuple[str, bytes]]:
    """The path below the manual's folder, and the content, of each page."""
    root = PurePosixPath(manual.folder)
    with tarfile.open(archive) as members:
        for member in members:
            inside = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            if not inside.is_relative_to(root) or inside.suffix != manual.suffix:
                continue
            path = inside.relative_to(root)
            content = members.extractfile(member)
            if content is not None and not {path.parts[0], str(path)} & set(manual.excluded):
                yield str(path), content.read()


def collection(name: str) -> Any:
    """The judged collection of a manual, which loads its pages itself."""
    from benchmarks.judged.sections import read_sections

    return read_sections(HERE / name, partial(load, name), name)


def load(
    name: str, say: Callable[[str], None], processes: int
) -> tuple[Sequence[str], Mapping[str, str]]:
    """Make a manual's pages searchable; return its collection, and no other names of sources."""
    from benchmarks.judged.loading import finish
    from ingestion.models import Collection, Visibility
    from kbsite.demo import documents

    manual = MANUALS[name]
    collection, _ = Collection.objects.undeleted().get_or_create(
        name=f"judged: {name}", defaults={"visibility": Visibility.GROUPS}
    )
    files = [
        documents.SourceFile(PurePosixPath(path).name, path, content)
        for path, content in pages(manual, download(manual, ROOT / "var" / "bench" / "archives"))
    ]
    uploads = documents.Uploads()
    documents.add(collection, sorted(files, key=lambda file: file.source), uploads)
    for problem in uploads.problems:
        say(problem)
    finish(uploads.waiting, write=say, processes=processes)
    return [collection.slug], {}


def kinds(name: str) -> dict[str, str]:
    """The kind of each question."""
    lines = (HERE / name / "queries.jsonl").read_text().splitlines()
    return {row["_id"]: row["kind"] for row in map(json.loads, lines)}


def grades(name: str) -> Iterator[tuple[str, str, int]]:
    """Question, section and grade of each judgement."""
    with (HERE / name / "qrels.tsv").open(newline="") as file:
        for query, section, grade in list(csv.reader(file, delimiter="\t"))[1:]:
            yield query, section, int(grade)


celery = partial(collection, "celery")
fastapi = partial(collection, "fastapi")
