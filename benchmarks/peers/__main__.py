"""Steelyard beside its peers: same chunks, same vectors, questions in shuffled turn in one run.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install -r benchmarks/peers/requirements.txt
    python -m benchmarks.peers --python /tmp/peers/bin/python [--collections scifact mtrag_cloud]

Embedding is excluded: the peers get the vector with each question, Steelyard has it in its cache.
Processor time is that of the peer's process, its threads and its server. Peers that cannot start
are named and left out. Collections are loaded into Steelyard once and kept under var/bench/peers.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.peers.shared import Library, ndcg
from benchmarks.processes import Child

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("lance", "pg_textsearch", "llamaindex", "milvus", "django_recipe", "langchain")
SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="with the peers' packages")
    parser.add_argument("--collections", nargs="+", default=["scifact", "mtrag_cloud"])
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--rounds", type=int, default=2, help="measured; one more comes before")
    arguments = parser.parse_args()
    for name in arguments.collections:
        folder = ROOT / "var" / "bench" / "peers" / name
        if not (folder / "library.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", "benchmarks.peers.steelyard", name, str(folder)]
            subprocess.run(command, check=True)
        compare(name, folder, arguments)


def compare(name: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Ask every peer every question, and print the table."""
    library = Library.read(folder)
    with ExitStack() as stack:
        peers, settings = {}, {}
        for peer in ("steelyard", *arguments.peers):
            python = sys.executable if peer == "steelyard" else arguments.python
            child = Child([python, "-m", "benchmarks.peers.serve", peer, str(folder)])
            stack.callback(child.close)
            try:
                settings[peer] = child.ask({})
                peers[peer] = child
            except RuntimeError:
                print(f"{peer} is left out: it did not start.")
        times, quality = _ask(library, peers, arguments.rounds)
    print(f"\n{name}: {len(library.texts):,} chunks, {len(library.questions)} questions;", end=" ")
    print(f"load of the machine {os.getloadavg()[0]:.1f}")
    print(f"{'':<16}{'nDCG@10':>9}{'p50 ms':>9}{'p95':>9}{'processor, p50':>17}  settings")
    for peer, pairs in times.items():
        clock = [milliseconds for milliseconds, _ in pairs]
        processor = statistics.median(processor for _, processor in pairs)
        p95 = statistics.quantiles(clock, n=20)[-1]
        figures = f"{statistics.median(clock):>9.1f}{p95:>9.1f}{processor:>17.1f}"
        print(f"{peer:<16}{statistics.fmean(quality[peer]):>9.3f}{figures}  {settings[peer]}")


_Times = dict[str, list[tuple[float, float]]]


def _ask(
    library: Library, peers: dict[str, Child], rounds: int
) -> tuple[_Times, dict[str, list[float]]]:
    """Milliseconds on the clock and of processor by peer, and nDCG@10 of each question."""
    shuffled = random.Random(SEED)
    times: _Times = {peer: [] for peer in peers}
    quality: dict[str, list[float]] = {peer: [] for peer in peers}
    count = len(library.questions)
    for round_number in range(rounds + 1):
        for i in shuffled.sample(range(count), count):
            for peer in shuffled.sample(list(peers), len(peers)):
                milliseconds, processor, found = peers[peer].ask({"question": i})
                if round_number:
                    times[peer].append((milliseconds, processor))
                else:
                    quality[peer].append(ndcg(found, library.judged[library.queries[i]]))
    return times, quality


if __name__ == "__main__":
    main()
