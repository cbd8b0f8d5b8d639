"""The optional parts of the site: Django apps, found by their entry points (ADR 33).

A distribution names a part's package under `steelyard.parts`; a checkout that is not installed has
those in `search/parts`. SEARCH_PARTS chooses among them. What a part may have is listed in
docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

GROUP = "steelyard.parts"
SHIPPED = "search.parts"


@cache
def installed() -> Mapping[str, str]:
    """The packages of the installed parts by name, in the order of names."""
    shipped = find_spec(SHIPPED)
    folders = (shipped and shipped.submodule_search_locations) or ()
    packages = {each.name: f"{SHIPPED}.{each.name}" for each in iter_modules(folders) if each.ispkg}
    # An entry point outlives the folder that it names.
    packages |= {each.name: each.value for each in entry_points(group=GROUP) if _exists(each.value)}
    return dict(sorted(packages.items()))


def packages_of(names: Iterable[str]) -> list[str]:
    """The packages of these parts, without those that are not installed."""
    return [package for name, package in installed().items() if name in names]


def modules_of(names: Iterable[str], module: str) -> Iterator[ModuleType]:
    """The modules of this name of the parts that have one, such as `settings`."""
    for package in packages_of(names):
        if _exists(f"{package}.{module}"):
            yield import_module(f"{package}.{module}")


@cache
def signals() -> Mapping[str, Mapping[str, Any]]:
    """The traits of the signals that installed parts add, by name: their `SIGNALS`."""
    packages = map(import_module, installed().values())
    return {
        name: traits
        for package in packages
        for name, traits in getattr(package, "SIGNALS", {}).items()
    }


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
