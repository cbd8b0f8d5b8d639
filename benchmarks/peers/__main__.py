"""Steelyard beside its peers: same chunks, same vectors, questions in shuffled turn in one run.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install -r benchmarks/peers/requirements.txt
    python -m benchmarks.peers --python /tmp/peers/bin/python [--collections scifact mtrag_cloud]
    python -m benchmarks.peers --python /tmp/peers/bin/python --chunks 200000 [--queries 120]

Embedding is excluded: the peers get the vector with each question, Steelyard has it in its cache.
Processor time is that of the peer's process, its threads and its server. Peers that cannot start
are named and left out. Collections are loaded into Steelyard once and kept under var/bench/peers,
as are the indexes of the peers that keep theirs on disk. `--build-only` makes all of it ready.

`--chunks` compares on a library that `benchmarks.search_speed` has built. Its questions have no
judgements: in place of nDCG stands the share of the exact ten nearest chunks that each vector
part finds, which says whether indexes of vectors are set up alike, and nothing of the quality of
the whole. Peers that search lists in memory are left out unless they are named by `--peers`.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.peers.shared import LARGE, Library, ndcg, recall
from benchmarks.processes import Child

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("lance", "pg_textsearch", "llamaindex", "milvus", "django_recipe", "langchain")
PEERS_OF_LARGE = ("lance", "pg_textsearch")
SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="with the peers' packages")
    parser.add_argument("--collections", nargs="*", help="by default scifact and mtrag_cloud")
    parser.add_argument("--chunks", type=int, nargs="*", default=[], help="sizes, as 200000")
    parser.add_argument("--peers", nargs="*", choices=PEERS)
    parser.add_argument("--queries", type=int, default=120, help="of libraries by size")
    parser.add_argument("--rounds", type=int, default=2, help="measured; one more comes before")
    parser.add_argument("--build-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    collections = arguments.collections
    if collections is None:
        collections = [] if arguments.chunks else ["scifact", "mtrag_cloud"]
    for name in (*collections, *map(str, arguments.chunks)):
        folder = ROOT / "var" / "bench" / "peers" / name
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.peers.steelyard", name, str(folder)]
        subprocess.run([*command, str(arguments.queries)], check=True)
        compare(name, folder, arguments)


def compare(name: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Ask every peer every question, and print the table."""
    library = Library.read(folder)
    chosen = arguments.peers
    if chosen is None:
        chosen = PEERS if len(library.texts) < LARGE else PEERS_OF_LARGE
    with ExitStack() as stack:
        settings, peers = _started(folder, chosen, arguments.python, stack)
        if arguments.build_only:
            return
        times, quality = _ask(library, peers, arguments.rounds)
    print(f"\n{name}: {len(library.texts):,} chunks, {len(library.questions)} questions;", end=" ")
    print(f"load of the machine {os.getloadavg()[0]:.1f}")
    measure = "nDCG@10" if library.judged else "nearest"
    print(f"{'':<21}{measure:>9}{'p50 ms':>9}{'p95':>9}{'processor, p50':>17}  settings")
    for peer, pairs in times.items():
        clock = [milliseconds for milliseconds, _ in pairs]
        processor = statistics.median(processor for _, processor in pairs)
        p95 = statistics.quantiles(clock, n=20)[-1]
        figures = f"{statistics.median(clock):>9.1f}{p95:>9.1f}{processor:>17.1f}"
        good = f"{statistics.fmean(quality[peer]):>9.3f}" if quality[peer] else f"{'':>9}"
        print(f"{peer:<21}{good}{figures}  {settings[peer]}")


def _started(
    folder: Path, chosen: Sequence[str], python: str, stack: ExitStack
) -> tuple[dict[str, str], dict[str, Child]]:
    """The settings and the process of each peer that starts; a long start is printed."""
    settings, peers = {}, {}
    for peer in ("steelyard", *chosen):
        program = sys.executable if peer == "steelyard" else python
        child = Child([program, "-m", "benchmarks.peers.serve", peer, str(folder)])
        stack.callback(child.close)
        began = time.perf_counter()
        try:
            settings[peer] = child.ask({})
            peers[peer] = child
        except RuntimeError:
            print(f"{peer} is left out: it did not start.")
        if (seconds := time.perf_counter() - began) > 20:
            print(f"{peer}: ready after {seconds:.0f} s", flush=True)
    return settings, peers


_Times = dict[str, list[tuple[float, float]]]


def _ask(
    library: Library, peers: dict[str, Child], rounds: int
) -> tuple[_Times, dict[str, list[float]]]:
    """Milliseconds on the clock and of the processor by peer, and the quality of each question."""
    shuffled = random.Random(SEED)
    times: _Times = {peer: [] for peer in peers}
    quality: dict[str, list[float]] = {peer: [] for peer in peers}
    count = len(library.questions)
    for round_number in range(rounds + 1):
        for i in shuffled.sample(range(count), count):
            for peer in shuffled.sample(list(peers), len(peers)):
                milliseconds, processor, results = peers[peer].ask({"question": i})
                if round_number:
                    times[peer].append((milliseconds, processor))
                elif library.judged:
                    quality[peer].append(ndcg(results, library.judged[library.queries[i]]))
                elif (near := peers[peer].ask({"nearest": i})) is not None:
                    quality[peer].append(recall(near, library.nearest[i]))
    return times, quality


if __name__ == "__main__":
    main()
