"""The process of one peer: answers requests, lines of JSON on standard input and output."""

from __future__ import annotations

import importlib
import json
import sys
from functools import partial
from pathlib import Path

from benchmarks.peers.shared import RESULTS, Library
from benchmarks.processes import timed


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    answers, sys.stdout = sys.stdout, sys.stderr  # packages print
    module = importlib.import_module(f"benchmarks.peers.{name}")
    library = Library.read(folder)
    searcher = module.Searcher(library, folder)
    for line in sys.stdin:
        request = json.loads(line)
        answer = module.SETTINGS
        if "nearest" in request:
            i = request["nearest"]
            nearest = getattr(searcher, "nearest", lambda *_: None)  # lists are searched exactly
            answer = nearest(library.questions[i], library.question_vectors[i])
        elif request:
            i = request["question"]
            search = partial(searcher.search, library.questions[i], library.question_vectors[i])
            elapsed, processor, results = timed(search, searcher.processes)
            if not name.startswith("steelyard"):  # it returns passages, the others chunks
                results = list(dict.fromkeys(library.ids[int(each)] for each in results))
            answer = [elapsed, processor, results[:RESULTS]]
        print(json.dumps(answer), file=answers, flush=True)
    if close := getattr(searcher, "close", None):
        close()


if __name__ == "__main__":
    main()
