"""How much of people's files is read: words, numbers with their unit, table rows, words made up.

    python -m benchmarks.reading [--peers FOLDER] [--json FILE] [--before FILE] [--write]

`--peers` compares with the stored output of other readers on their own test files; the folder
holds checkouts of docling and unstructured. `--before` is an earlier `--json`: both figures stand
in each cell. `--write` puts the tables into benchmarks/results/reading.md. `--losses` prints what
each generated file lost.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.reading import recall
from benchmarks.reading.independent_readers import text_of
from benchmarks.reading.known_files import KnownFile, known_files
from benchmarks.reading.recall import Reading, words
from benchmarks.reading.report import RESULTS, report
from benchmarks.reading.stored_outputs import stored_outputs
from ingestion.domain import ParsedDocument, extracted_text
from ingestion.errors import IngestionError
from ingestion.parsing.child.sandbox import parse_file

SHARED = Path(__file__).resolve().parents[3] / "shared"
# Not to be read as they are: damaged on purpose, archives, source code and old encodings.
_UNCOMPARED = {"broken", "bin", "zip", "code", "txt-encodings"}
Results = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--label", default="the run before", help="what the first figure is")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--losses", action="store_true")
    arguments = parser.parse_args()
    before = json.loads(arguments.before.read_text()) if arguments.before else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results: Results = {
            "known": {},
            "files": {},
            "samples": against_others(SHARED / "samples", folder, losses=arguments.losses),
            "cases": against_others(SHARED / "cases", folder, losses=arguments.losses),
            "peers": [],
        }
        for file in known_files(folder):
            read_known(file, results, folder, losses=arguments.losses)
        if arguments.peers:
            results["peers"] = [*beside_peers(arguments.peers, folder, losses=arguments.losses)]
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    text = report(results, before, arguments.label)
    print(text)
    if arguments.write:
        RESULTS.write_text(text)


def parsed(content: bytes, name: str, folder: Path) -> ParsedDocument | None:
    """The document as a worker's child reads it; None where it fails, which is said aloud."""
    path = folder / "stored"
    path.write_bytes(content)
    try:
        return parse_file(path, name)
    except IngestionError:
        return None


def read_known(file: KnownFile, results: Results, folder: Path, *, losses: bool) -> None:
    """Add the figures of a file with known text to its format's, and under its own name."""
    document = parsed(file.content, file.name, folder)
    blocks = document.blocks if document else ()
    text, known = extracted_text(blocks), words(file.text)
    there = words(recall.text_of_blocks(blocks))
    # The title of a markup's document is no block; it is searched all the same.
    with_title = words(f"{document.title}\n\n{recall.text_of_blocks(blocks)}" if document else "")
    reading = Reading(
        words=recall.recall(known, with_title),
        values=recall.values_read(file.values, text),
        rows=recall.rows_read(file.tables, blocks),
        made_up=recall.made_up(known + words(file.optional), there),
        failed=int(document is None),
    )
    if document and not document.completeness.losses:
        reading.silent = reading.words.of - reading.words.read
    results["files"][file.name] = asdict(reading)
    whole = results["known"].setdefault(file.format, asdict(Reading(files=0)))
    total = Reading.of_json(whole)
    total.add(reading)
    whole.update(asdict(total))
    if losses:
        lost = known - with_title
        added = recall.added(known + words(file.optional), there)
        missed = [each for each in file.values if not recall.values_read([each], text).read]
        if lost or added or missed or reading.rows.read < reading.rows.of:
            print(file.name, "lost", dict(lost), "made up", dict(added), "values", missed)
            print(f"  rows {reading.rows.read} of {reading.rows.of}, silent {reading.silent}")


def distinct(text: str) -> Counter[str]:
    """Each word once: readers differ in how often they say a running header or a merged cell."""
    return Counter(words(text).keys())


def against_others(folder: Path, scratch: Path, *, losses: bool) -> dict[str, dict[str, Any]]:
    """By format the share of another reader's words that ours has, and the reverse."""
    formats: dict[str, Reading] = {}
    for path in sorted(folder.rglob("*.*")):
        extension = path.suffix[1:].lower()
        if _UNCOMPARED & set(path.parts) or not path.is_file() or path.name == "EXPECT.txt":
            continue
        document = parsed(path.read_bytes(), path.name, scratch)
        other = text_of(path.read_bytes(), extension, scratch) if document else None
        if not other or not other.strip() or document is None:
            continue
        theirs, ours = distinct(other), distinct(recall.text_of_blocks(document.blocks))
        reading = Reading(words=recall.recall(theirs, ours), made_up=recall.made_up(theirs, ours))
        if not document.completeness.losses:
            reading.silent = reading.words.of - reading.words.read
        formats.setdefault(extension, Reading(files=0)).add(reading)
        if losses and (lost := theirs - ours):
            print(path.relative_to(folder), f"lost {lost.total()} of {theirs.total()}", *lost)
    return {name: asdict(each) for name, each in sorted(formats.items())}


def beside_peers(folder: Path, scratch: Path, *, losses: bool) -> Iterator[dict[str, Any]]:
    """File by file the recall of ours and theirs by a third reader's words, and by each other's."""
    for output in stored_outputs(folder):
        content = output.path.read_bytes()
        document = parsed(content, output.path.name, scratch)
        ours = distinct(recall.text_of_blocks(document.blocks if document else ()))
        theirs = distinct(output.text)
        third = distinct(text_of(content, output.path.suffix[1:], scratch) or "")
        if losses and (lost := theirs - ours):
            print(output.path.name, output.peer, f"lost {lost.total()} of {theirs.total()}", *lost)
        yield {
            "file": output.path.name,
            "peer": output.peer,
            "ours_of_theirs": asdict(recall.recall(theirs, ours)),
            "theirs_of_ours": asdict(recall.recall(ours, theirs)),
            "ours": asdict(recall.recall(third, ours)),
            "theirs": asdict(recall.recall(third, theirs)),
        }


if __name__ == "__main__":
    main()
