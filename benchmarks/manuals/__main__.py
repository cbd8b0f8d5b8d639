"""Measure search on two manuals: see the package."""

from __future__ import annotations

import sys
from functools import partial

from benchmarks.manuals import MANUALS, collection
from benchmarks.questions import evaluate
from benchmarks.temporary_site import site


def main() -> None:
    arguments = sys.argv[1:]
    names = [each for each in arguments if each in MANUALS]
    rest = [each for each in arguments if each not in MANUALS]
    with site("manuals"):
        from benchmarks.judged.command import SHIPPED

        SHIPPED.update({name: partial(collection, name) for name in MANUALS})
        evaluate(["--collection", *(names or MANUALS), *rest])


if __name__ == "__main__":
    main()
