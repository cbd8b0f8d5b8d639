"""Measure profiles on judged collections (corpus.jsonl, queries.jsonl, qrels.tsv).

    python -m benchmarks.judged --collection demo --profile default rrf --json figures.json

A corpus is loaded once, like any upload, into the site of this machine, and stays hidden from
readers.
"""

from __future__ import annotations

import os
import sys


def set_up() -> None:
    """Set Django up on the site of this machine; start its embedded servers."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    import django

    from kbsite.embedded import ensure_servers

    ensure_servers()
    django.setup()


def main() -> None:
    set_up()
    from benchmarks.judged.command import run
    from common import UserError

    try:
        run(sys.argv[1:])
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
