"""Search on code: a docstring's summary asks for its function, a description for its operation.

    python -m benchmarks.code_search
    python -m benchmarks.code_search python-aside --profile default keyword-only --processes 1

Everything after the names goes to `benchmarks.judged`. `python` holds functions and classes of the
installed packages, each without its docstring; its name is the title. `operations` holds the
operations of botocore's services, as names of parameters, types and errors. Both are read when the
benchmark runs, and nothing of them is kept: figures hold for one environment. Packages and services
are parted into two halves by a hash of their names; nothing is tuned on those set aside.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import re
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.temporary_site import site

SETS = ("python", "python-aside", "operations", "operations-aside")
PACKAGES = Path(sysconfig.get_path("purelib"))
# The most pieces of each package and service, so that none dominates.
MOST_EACH = {"python": 25, "operations": 10}
LONGEST_FILE = 200_000
MOST_CHARS = 1_000
MOST_PARAMETERS = 15
FEWEST_WORDS, MOST_WORDS = 4, 25
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|\Z)")
_TAG = re.compile(r"<[^>]+>")
_TESTS = re.compile(r"(?:\A|[/_])(?:tests?|testing|vendor|vendored|conftest)(?:[/_.]|\Z)")


@dataclass(frozen=True, slots=True)
class Named:
    """A named piece of code, and the sentence that describes it."""

    owner: str
    name: str
    text: str
    summary: str

    @property
    def id(self) -> str:
        return hashed(f"{self.owner} {self.name} {self.text}")[:16]


def hashed(text: str) -> str:
    """A hash that is equal in every process."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_aside(owner: str) -> bool:
    """Whether a package or a service is in the half on which nothing is tuned."""
    return int(hashed(owner), 16) % 2 == 1


def functions() -> Iterator[Named]:
    """The public functions, methods and classes with a docstring of the installed packages."""
    for path in sorted(PACKAGES.rglob("*.py")):
        inside = path.relative_to(PACKAGES)
        if _TESTS.search(inside.as_posix()) or path.stat().st_size > LONGEST_FILE:
            continue
        try:
            source = path.read_text(encoding="utf-8")
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        owner = inside.parts[0].removesuffix(".py")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                docstring = ast.get_docstring(node)
                if docstring and not node.name.startswith("_"):
                    text = _without_docstring(node, source)
                    yield Named(owner, node.name, text, _summary(docstring))


def _without_docstring(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, source: str
) -> str:
    lines = source.splitlines()
    docstring = node.body[0]
    before = lines[node.lineno - 1 : docstring.lineno - 1]
    return "\n".join([*before, *lines[docstring.end_lineno : node.end_lineno]])[:MOST_CHARS]


def operations() -> Iterator[Named]:
    """The operations of botocore's services."""
    for folder in sorted((PACKAGES / "botocore" / "data").iterdir()):
        paths = sorted(folder.glob("*/service-2.json.gz"))
        if not paths:
            continue
        service: dict[str, Any] = json.loads(gzip.decompress(paths[-1].read_bytes()))
        for name, operation in service["operations"].items():
            fields = service["shapes"].get(operation.get("input", {}).get("shape"), {})
            parameters = [
                f"{each}: {member['shape']}" for each, member in fields.get("members", {}).items()
            ]
            errors = ", ".join(each["shape"] for each in operation.get("errors", ()))
            text = (
                f"{folder.name}.{name}({', '.join(parameters[:MOST_PARAMETERS])})\n"
                f"returns {operation.get('output', {}).get('shape', 'nothing')}\nraises {errors}"
            )
            description = unescape(_TAG.sub("", operation.get("documentation", "")))
            yield Named(folder.name, name, text[:MOST_CHARS], _summary(description))


def _summary(text: str) -> str:
    """The first sentence of a description, in one line."""
    paragraph = " ".join(re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].split())
    sentence = _SENTENCE.match(paragraph)
    return sentence[1] if sentence else paragraph


def chosen(pieces: Iterable[Named], most: int) -> Iterator[Named]:
    """For each owner `most` pieces with a unique summary that does not contain the name."""
    by_summary: dict[str, list[Named]] = defaultdict(list)
    for piece in pieces:
        by_summary[piece.summary.casefold()].append(piece)
    by_owner: dict[str, list[Named]] = defaultdict(list)
    for summary, (piece, *others) in by_summary.items():
        is_sentence = FEWEST_WORDS <= len(summary.split()) <= MOST_WORDS
        if is_sentence and not others and piece.name.casefold() not in summary:
            by_owner[piece.owner].append(piece)
    for owned in by_owner.values():
        yield from islice(sorted(owned, key=lambda piece: piece.id), most)


def write(pieces: Iterable[Named], folder: Path) -> int:
    """Write a judged collection in BEIR's layout; return its number of questions."""
    folder.mkdir(parents=True)
    corpus, queries, qrels = [], [], ["query-id\tcorpus-id\tscore"]
    for piece in pieces:
        corpus.append(json.dumps({"_id": piece.id, "title": piece.name, "text": piece.text}))
        queries.append(json.dumps({"_id": piece.id, "text": piece.summary}))
        qrels.append(f"{piece.id}\t{piece.id}\t1")
    for name, lines in ("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", qrels):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(corpus)


def build(names: Iterable[str], folder: Path) -> None:
    """Write the sets of these names below `folder`, and print their sizes."""
    for name in names:
        kind = name.removesuffix("-aside")
        every = functions() if kind == "python" else operations()
        half = (each for each in every if is_aside(each.owner) == (name != kind))
        print(f"{name}: {write(chosen(half, MOST_EACH[kind]), folder / name)} questions")


def main() -> None:
    """Build the sets, and measure search on them."""
    arguments = sys.argv[1:]
    names = [each for each in arguments if each in SETS] or list(SETS)
    rest = [each for each in arguments if each not in SETS]
    with site("code") as var:
        from benchmarks.judged.command import run

        build(names, var / "sets")
        folders = [str(var / "sets" / name) for name in names]
        run(["--collection", *folders, *rest])


if __name__ == "__main__":
    main()
