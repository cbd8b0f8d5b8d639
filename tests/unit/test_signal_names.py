"""A signal is named by few modules: the others iterate over the registry or the enumeration."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from search.domain import OPTIONAL, Signal

ROOT = Path(__file__).parents[2]
# The enumeration with the weights, the signal's own module, the column of the weights.
MOST = 3
# What the kernel and its explanation stand on, by name: Reciprocal rank fusion's factor for both,
# the confidence, ties by keywords, embeddings, degradation without a model.
KERNEL = {Signal.VECTOR: 19, Signal.KEYWORD: 8, Signal.TITLE: 6}
# A part is one place: its signal, and the adjustment of the signal's weight.
PARTS = ROOT / "search" / "parts"

# Other things are named “title” or “keyword” by the same words.
OPTIONAL_NAMES = {signal.value for signal in OPTIONAL}


def _is_exempt(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return "migrations" in parts or parts[:2] == ("search", "presets")


def _names(tree: ast.AST) -> set[str]:
    """The signals that a module names: `Signal.NAME`, and as a weight or its column."""
    named: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="Signal"), attr=name):
                named.add(name.lower())
            case ast.ClassDef(name="Signal" | "Weights" | "ClassWeights"):
                named |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            case ast.Attribute(value=ast.Name(id="weights" | "shares"), attr=name):
                named |= {name} & OPTIONAL_NAMES
            case ast.Call(func=ast.Name(id="Weights" | "replace"), keywords=given):
                named |= {each.arg for each in given if each.arg} & OPTIONAL_NAMES
    return {name.lower() for name in named} & {signal.value for signal in Signal}


def _place(path: Path) -> Path:
    """The module; of a part the package."""
    is_of_part = path.is_relative_to(PARTS) and path.parent != PARTS
    return (PARTS / path.relative_to(PARTS).parts[0] if is_of_part else path).relative_to(ROOT)


@pytest.fixture(scope="module")
def modules() -> dict[str, list[str]]:
    """The modules that name each signal."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in ("search", "kbsite", "ingestion", "common"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not _is_exempt(path):
                for name in _names(ast.parse(path.read_text("utf-8"))):
                    found[name].append(str(_place(path)))
    return found


@pytest.mark.parametrize("signal", Signal)
def test_few_modules_name_a_signal(signal: Signal, modules: dict[str, list[str]]) -> None:
    where = sorted(set(modules[signal.value]))
    assert len(where) <= KERNEL.get(signal, MOST), "\n".join(where)
    assert len(where) >= MOST, "the test does not see where the signal is named"
