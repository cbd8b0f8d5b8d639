"""The attacks of the tests in their long form: `make attack`, an hour or two on two cores.

    python -m benchmarks.attack [--parts visibility load words] [--seconds 300]

    a group of SUITE   its files with 200 generated requests an operation, 1,000 examples a law and
                       10,000 graphs of permissions
    load               64 readers, more than the site serves in time (benchmarks.load), for
                       --seconds each
    words              how long a word of hidden documents takes, beside one that nothing contains

Each part prints its result and minutes. Exit code 1 if one failed. Times are printed, and judged
by whoever reads them.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time

# What is attacked, and the files that do it.
SUITE = {
    "visibility": (
        "tests/web/test_visibility.py",
        "tests/postgres/test_leaks.py",
        "tests/web/test_admin_analytics.py",
        "tests/web/test_targets.py",
        "tests/web/test_token_scopes.py",
        "tests/web/test_who_sees.py",
    ),
    "requests": (
        "tests/web/test_api_fuzz.py",
        "tests/web/test_page_frame.py",
    ),
    "files": (
        "tests/postgres/test_hostile_files.py",
        "tests/unit/parsing/test_hostile.py",
        "tests/unit/parsing/test_limits.py",
        "tests/unit/parsing/test_probing_child.py",
        "tests/unit/test_expressions.py",
        "tests/unit/fetching",
    ),
    "keys": (
        "tests/web/test_sign_in_guard.py",
        "tests/web/test_admin_people.py",
        "tests/web/test_token_scopes.py",
        "tests/postgres/test_space_addresses.py",
    ),
    "slow": ("tests/faults/test_slow_clients.py", "tests/faults/test_admission.py"),
    "outages": (
        "tests/faults/test_hanging.py",
        "tests/faults/test_embedded.py",
        "tests/faults/test_killed.py",
        "tests/faults/test_workers.py",
        "tests/faults/test_intake.py",
        "tests/web/test_outages.py",
        "tests/backups",
    ),
}
PAIRS = 240


def main() -> None:
    parts = (*SUITE, "load", "words")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seconds", default="300")
    chosen = parser.parse_args()
    long = os.environ | {"FUZZ_EXAMPLES": "200", "HYPOTHESIS_PROFILE": "nightly"}
    failed = []
    for part in chosen.parts:
        began = time.monotonic()
        print(f"--- {part}", flush=True)
        command = ["benchmarks.load", "--seconds", chosen.seconds]
        if part in SUITE:
            # One file has nearly all generated requests: by files one core would idle.
            spread = "load" if part == "requests" else "loadfile"
            command = ["pytest", "-n", "2", "--dist", spread, "-q", *SUITE[part]]
        if part == "words":
            compare_words()
        elif subprocess.run([sys.executable, "-m", *command], env=long).returncode:
            failed.append(part)
        result = "failed" if part in failed else "passed"
        print(f"--- {part} {result} in {(time.monotonic() - began) / 60:.0f} min", flush=True)
    sys.exit(f"Failed: {', '.join(failed)}" if failed else 0)


def compare_words() -> None:
    """Print the search times of a visitor for hidden and for missing words, in random turns."""
    os.environ["SEARCH_EVENTS"] = "0"
    from benchmarks.temporary_site import receive, site

    with site("attack"):
        from benchmarks import corpus
        from ingestion.documents import processing_steps
        from ingestion.models import Collection
        from search.pipeline import search

        corpus.build(2000)
        dice = random.Random(0)
        hidden, missing = ([_word(dice) for _ in range(PAIRS)] for _ in range(2))
        shelf = Collection.objects.create(name="Hidden", visibility="groups")
        for version in receive(shelf, [" ".join(hidden).encode()], "hidden.txt"):
            processing_steps.advance(version)
        milliseconds: dict[str, list[float]] = {"hidden": [], "missing": []}
        for pair in zip(hidden, missing, strict=True):
            cases = list(zip(milliseconds, pair, strict=True))
            dice.shuffle(cases)
            for name, word in cases:
                began = time.perf_counter()
                search(word, viewer=None)
                milliseconds[name].append((time.perf_counter() - began) * 1000)
        for name, times in milliseconds.items():
            print(f"  {PAIRS} {name} words: median {statistics.median(times):.2f} ms")
        slower = sum(one > other for one, other in zip(*milliseconds.values(), strict=True))
        print(f"  hidden ones were slower in {slower} of {PAIRS} pairs (chance: 105 to 135)")


def _word(dice: random.Random) -> str:
    """A word of seven letters that no language has."""
    return "".join(dice.choice(("bdfgk", "aeiou")[at % 2]) for at in range(7)) + "qx"


if __name__ == "__main__":
    main()
