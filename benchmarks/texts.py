"""Real text: the judged collections in ../shared/relevance, as passages, questions and windows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

RELEVANCE = Path(__file__).resolve().parents[2] / "shared" / "relevance"
SOURCES = ("mtrag_cloud", "scifact", "nfcorpus", "cranfield", "med")
WINDOW_CHARS = 900


def passages() -> list[str]:
    """Every passage of the judged collections, title first."""
    texts = []
    for source in SOURCES:
        for line in (RELEVANCE / source / "corpus.jsonl").read_text().splitlines():
            row = json.loads(line)
            texts.append(f"{row.get('title', '')}\n{row['text']}".strip())
    return texts


def questions(count: int) -> list[str]:
    """Real questions, taken evenly from the collections."""
    pools = []
    for source in SOURCES:
        lines = (RELEVANCE / source / "queries.jsonl").read_text().splitlines()
        pools.append([json.loads(line)["text"][:400] for line in lines])
    mixed = [pool[i % len(pool)] for i in range(count) for pool in pools]
    return list(dict.fromkeys(mixed))[:count]


class Windows:
    """`count` windows over all the text, spread evenly over it; a slice reads some of them."""

    def __init__(self, count: int) -> None:
        self._text = "\n\n".join(passages())
        self._count = count
        self._step = max(1, (len(self._text) - WINDOW_CHARS) // count)

    def __getitem__(self, part: slice) -> list[str]:
        starts = [i * self._step for i in range(*part.indices(self._count))]
        return [
            self._text[start : start + WINDOW_CHARS].strip().replace("\x00", "") for start in starts
        ]


def windows(count: int) -> Iterator[str]:
    """`count` windows over all the text, spread evenly over it."""
    yield from Windows(count)[:]
