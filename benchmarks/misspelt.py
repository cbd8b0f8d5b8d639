"""Misspelt questions: how often one wrong letter leaves the same passage first.

    python -m benchmarks.misspelt
    python -m benchmarks.misspelt --running --failures

Each answerable judged question of the demo and of both manuals (`benchmarks.manuals`) is asked as
it is, and with one letter of its rarest word replaced, left out, added, or swapped with the next
(in turn): any letter, also the first. The figure is the share with the same first passage.

Without `--running` the three libraries are loaded into a temporary installation; with it that of
STEELYARD_VAR is used, which loads what it has not.
"""

from __future__ import annotations

import argparse
import random
import re
import string
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks.manuals import MANUALS, collection
from benchmarks.temporary_site import CORES, ROOT, set_up, site

_WORD = re.compile(r"[^\W\d]{4,}")
SEED = 26


KINDS = ("replaced", "left out", "added", "swapped")


def misspelt(word: str, kind: str, chance: random.Random) -> str:
    """The word after one edit at a random letter; a swap needs two different letters."""
    at = chance.randrange(len(word))
    other = chance.choice([each for each in string.ascii_lowercase if each != word[at].lower()])
    pairs = [i for i in range(len(word) - 1) if word[i] != word[i + 1]]
    if kind == "swapped" and pairs:
        at = chance.choice(pairs)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    inserted = "" if kind == "left out" else other
    return word[:at] + inserted + word[at + (kind != "added") :]


def rarest(text: str, viewer: Any) -> str:
    """The word of four letters or more in the fewest passages; empty without such a word."""
    from search.retrieval.spelling_candidates import passages_with

    words = [each.group() for each in _WORD.finditer(text)]
    counts = passages_with(words, viewer)
    return min((each for each in words if each in counts), key=counts.__getitem__, default="")


def first(text: str, viewer: Any, slugs: Sequence[str], *, exact: bool = False) -> tuple[int, str]:
    """The chunk of the first result, 0 without one, and the query that it answers."""
    from search.pipeline import Choices, search
    from search.retrieval import Filters

    within, choices = Filters(collections=tuple(slugs)), Choices(exact=exact)
    response = search(text, viewer=viewer, filters=within, choices=choices, page_size=1)
    return (response.hits[0].chunk_id if response.hits else 0), response.query.original


def measure(
    name: str, judged: Any, viewer: Any, *, failures: bool, exact: bool
) -> Counter[tuple[str, str]]:
    """The counts of edits and outcomes: same, other; corrected: the original question came back."""
    counts: Counter[tuple[str, str]] = Counter()
    slugs, _ = judged.load(print, CORES)
    for place, (key, text) in enumerate(judged.queries.items()):
        word = rarest(text, viewer)
        if not word:
            continue
        expected, _ = first(text, viewer, slugs)
        kind = KINDS[place % len(KINDS)]
        wrong = misspelt(word, kind, random.Random(f"{SEED} {name} {key}"))
        passage, query = first(text.replace(word, wrong, 1), viewer, slugs, exact=exact)
        counts[kind, "same" if passage == expected else "other"] += 1
        counts[kind, "corrected"] += query.lower() == text.lower()
        if failures and passage != expected:
            print(f"  {kind}: {text} | {word} -> {wrong} | asked: {query}", flush=True)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["demo", *MANUALS])
    parser.add_argument("--running", action="store_true", help="use the installation that is there")
    parser.add_argument("--failures", action="store_true", help="show them")
    parser.add_argument("--exact", action="store_true", help="search as typed, for comparison")
    options = parser.parse_args()
    if options.running:
        import os

        set_up(Path(os.environ.get("STEELYARD_VAR", ROOT / "var")))
    with nullcontext() if options.running else site("misspelt"):
        from django.conf import settings

        from benchmarks.judged.command import SHIPPED
        from common.accounts.models import User

        settings.QUERY_EMBEDDING_TIMEOUT = 60  # a figure must not depend on the machine's load
        viewer = User(is_superuser=True, is_active=True)
        total: Counter[tuple[str, str]] = Counter()
        for name in options.names:
            judged = collection(name) if name in MANUALS else SHIPPED[name]()
            counts = measure(name, judged, viewer, failures=options.failures, exact=options.exact)
            report(name, counts)
            total += counts
        report("all", total)


def report(name: str, counts: Counter[tuple[str, str]]) -> None:
    kinds = list(dict.fromkeys(kind for kind, _ in counts))
    parts = []
    for kind in kinds:
        total = counts[kind, "same"] + counts[kind, "other"]
        same, corrected = counts[kind, "same"], counts[kind, "corrected"]
        parts.append(f"{kind} {same}/{total} ({same / total:.0%}; corrected {corrected})")
    same = sum(counts[kind, "same"] for kind in kinds)
    total = same + sum(counts[kind, "other"] for kind in kinds)
    print(f"{name}: same first passage {same}/{total} ({same / total:.1%}). " + ", ".join(parts))


if __name__ == "__main__":
    main()
