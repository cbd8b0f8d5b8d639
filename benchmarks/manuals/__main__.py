"""Measure search on two manuals: see the package."""

from __future__ import annotations

import sys

from benchmarks.manuals import MANUALS
from benchmarks.questions import evaluate
from benchmarks.temporary_site import site


def main() -> None:
    arguments = sys.argv[1:]
    names = [each for each in arguments if each in MANUALS]
    rest = [each for each in arguments if each not in MANUALS]
    with site("manuals"):
        from django.conf import settings

        settings.JUDGED_COLLECTIONS = {
            **settings.JUDGED_COLLECTIONS,
            **{name: f"benchmarks.manuals.{name}" for name in MANUALS},
        }
        evaluate(["--collection", *(names or MANUALS), *rest])


if __name__ == "__main__":
    main()
