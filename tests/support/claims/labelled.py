"""The labelled sentences, and the check's precision and recall on them."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from search.answers.checking.splitting import split
from search.answers.checking.verdicts import check
from search.answers.domain import NOT_SUPPORTED, Context, Passage
from tests.support.claims.documents import own_documents
from tests.support.claims.mutations import FALSE, HELD_OUT
from tests.support.claims.restatements import TRUE, sentences_of

CONTEXT = 5  # passages; the cited one and others
ELSEWHERE = "of another passage"


@dataclass(frozen=True)
class Labelled:
    """A sentence that cites passage 1 of its context. `base`: the true sentence it was made of."""

    kind: str
    text: str
    is_true: bool
    context: Context
    base: str


def passage(number: int, title: str, text: str) -> Passage:
    return Passage(
        number, (number,), number, str(number), number, 0, title, (), None, 1, "Own", "", 0,
        len(text), text, len(text) // 4, 1.0, number,
    )  # fmt: skip


def labelled(documents: Mapping[str, Sequence[str]], seed: int = 12) -> list[Labelled]:
    """The sentences of the documents in all kinds; the same for the same documents."""
    chance = random.Random(seed)
    paragraphs = [(title, each) for title, texts in documents.items() for each in texts]
    found: list[Labelled] = []
    for title, paragraph in paragraphs:
        others = [each for each in paragraphs if each[0] != title]
        chosen = [(title, paragraph), *chance.sample(others, min(CONTEXT - 1, len(others)))]
        context = Context(tuple(passage(n, *each) for n, each in enumerate(chosen, start=1)))
        for sentence in sentences_of(paragraph):
            found += _made_of(sentence, paragraph, context, chance)
        foreign = sentences_of(chosen[1][1]) if len(chosen) > 1 else ()
        found += [Labelled(ELSEWHERE, each, False, context, each) for each in foreign]
    return found


def _made_of(
    sentence: str, paragraph: str, context: Context, chance: random.Random
) -> Iterable[Labelled]:
    for kinds, is_true in ((TRUE, True), (FALSE, False), (HELD_OUT, False)):
        for kind, change in kinds.items():
            text = change(sentence, paragraph, chance)
            if text is not None and (is_true or text not in paragraph):
                yield Labelled(kind, text, is_true, context, sentence)


def is_flagged(one: Labelled) -> bool:
    """True if the check finds the sentence unsupported, or does not verify it."""
    return verdict_of(one)[0]


@cache
def verdict_of(one: Labelled) -> tuple[bool, tuple[str, ...]]:
    text = f"{one.text} [1]"
    checked = [check(text, span, one.context) for span in split(text)]
    flagged = any(each.verdict in NOT_SUPPORTED for each in checked)
    return flagged, tuple(reason for each in checked for reason in each.reasons)


@dataclass(frozen=True)
class Figures:
    """Of one kind of false sentence: `count`, those flagged, and the flagged among the true forms
    of the sentences that it was made of.
    """

    count: int
    flagged: int
    true_count: int
    true_flagged: int

    @property
    def recall(self) -> float:
        return self.flagged / self.count if self.count else 0.0

    @property
    def precision(self) -> float:
        """With as many true sentences as false ones."""
        if not self.flagged:
            return 0.0
        alarms = self.true_flagged / self.true_count if self.true_count else 0.0
        return self.recall / (self.recall + alarms)


def measured(rows: Sequence[Labelled]) -> dict[str, Figures]:
    """Precision and recall by kind of false sentence."""
    flagged = [is_flagged(row) for row in rows]
    true_by_base: dict[str, list[bool]] = defaultdict(list)
    for row, mark in zip(rows, flagged, strict=True):
        if row.is_true:
            true_by_base[row.base].append(mark)
    by_kind: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for row, mark in zip(rows, flagged, strict=True):
        if not row.is_true:
            by_kind[row.kind].append((row.base, mark))
    found = {}
    for kind, marks in by_kind.items():
        true = [mark for base in {base for base, _ in marks} for mark in true_by_base[base]]
        if kind == ELSEWHERE:
            true = [mark for each in true_by_base.values() for mark in each]
        found[kind] = Figures(len(marks), sum(m for _, m in marks), len(true), sum(true))
    return found


def alarms(rows: Sequence[Labelled]) -> dict[str, tuple[int, int]]:
    """By kind of true sentence: their number, and how many are flagged."""
    counts = Counter(row.kind for row in rows if row.is_true)
    wrong = Counter(row.kind for row in rows if row.is_true and is_flagged(row))
    return {kind: (count, wrong[kind]) for kind, count in counts.items()}


def together(figures: Iterable[Figures]) -> Figures:
    """The figures of several kinds as one."""
    rows = list(figures)
    return Figures(
        sum(each.count for each in rows), sum(each.flagged for each in rows),
        sum(each.true_count for each in rows), sum(each.true_flagged for each in rows),
    )  # fmt: skip


def corpus(folder: Path, most: int) -> dict[str, list[str]]:
    """Passages of a corpus of shared/relevance, an even sample, each a document of its own."""
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]
    step = max(1, len(rows) // most)
    return {f"{row.get('title', '')} {row['_id']}": [row["text"]] for row in rows[::step][:most]}


def main(arguments: Sequence[str]) -> None:
    documents = corpus(Path(arguments[0]), int(arguments[1])) if arguments else own_documents()
    rows = labelled(documents)
    print(f"{len(rows)} sentences, {sum(row.is_true for row in rows)} of them true")
    for kind, (count, wrong) in alarms(rows).items():
        print(f"  true, {kind:<24} {count:>5} sentences, {wrong:>4} flagged ({wrong / count:.3f})")
    for kind, each in measured(rows).items():
        held = " (held out)" if kind in HELD_OUT else ""
        print(
            f"  false, {kind + held:<34} {each.count:>5}  recall {each.recall:.3f}"
            f"  precision {each.precision:.3f}"
        )
    if len(arguments) > 2:
        for row in rows:
            flagged, reasons = verdict_of(row)
            if flagged == row.is_true and row.kind in arguments[2].split(","):
                print(f"{row.kind}: {row.text}\n    was: {row.base}\n    {reasons}")


if __name__ == "__main__":
    main(sys.argv[1:])
