"""The house keeps its budgets: a new thing pays by taking away, or an ADR says why not.

A signal is named by few modules: the others iterate over the registry or the enumeration.
To raise a number in `BUDGETS`, write an ADR that says what pays for it.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from search.domain import OPTIONAL, Signal

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("kbsite", "search", "ingestion", "common")
BUDGETS = {
    "modules": 500,
    "code lines": 66_210,
    "modules in the largest import circle": 1,
    "environment variables": 109,
    "files over 300 lines": 13,
    "functions over 40 lines": 18,
    "public classes that share their name in an app": 0,
    "lines of tests": 64_000,
}
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


@cache
def sources() -> dict[str, str]:
    """The text of each module by its dotted name; migrations are history and do not count."""
    files = (file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): file.read_text()
        for file in files
        if "migrations" not in file.parts
    }


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """All nodes of each module: to walk a tree takes longer than to parse it."""
    return {name: list(ast.walk(ast.parse(text))) for name, text in sources().items()}


def code_lines(name: str) -> int:
    """The lines of a module that are neither blank nor of comments and docstrings."""
    tokens = tokenize.generate_tokens(io.StringIO(sources()[name]).readline)
    lines = {
        line
        for token in tokens
        if token.type not in LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in nodes()[name]:
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            match node.body:
                case [ast.Expr(ast.Constant(str())) as text, *_]:
                    lines -= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(lines)


@cache
def modules() -> dict[str, str]:
    """The key in `sources` of each module by the name under which it is imported."""
    return {name.removesuffix(".__init__"): name for name in sources()}


def imports(module: str) -> Iterator[str]:
    """What a module imports, also within functions and under TYPE_CHECKING."""
    name = modules()[module]
    package = module if name != module else module.rpartition(".")[0]
    for node in nodes()[name]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in modules() else base


def largest_circle() -> set[str]:
    """The largest set of modules that reach each other by imports (Tarjan 1972)."""
    edges = {one: {*imports(one)} & modules().keys() - {one} for one in modules()}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[set[str]] = [set()]

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in edges[module]:
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            circles.append(set(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10_000)
    for module in edges:
        if module not in index:
            visit(module)
    return max(circles, key=len)


def long_functions() -> list[str]:
    return [
        f"{name}.{node.name}"
        for name, whole in nodes().items()
        for node in whole
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > 40
    ]


def shared_names() -> list[str]:
    """Public classes of one name in one app; every management command is called Command."""
    names = Counter(
        f"{module.partition('.')[0]}.{node.name}"
        for module, (tree, *_) in nodes().items()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name != "Command" and node.name[0] != "_"
    )
    return [name for name, count in names.items() if count > 1]


@cache
def measured() -> dict[str, int]:
    example = (ROOT / ".env.example").read_text()
    return {
        "modules": len(sources()),
        "code lines": sum(map(code_lines, sources())),
        "modules in the largest import circle": len(largest_circle()),
        "environment variables": len(set(re.findall(r"(?m)^#? ?([A-Z][A-Z0-9_]+)=", example))),
        "files over 300 lines": sum(text.count("\n") > 300 for text in sources().values()),
        "functions over 40 lines": len(long_functions()),
        "public classes that share their name in an app": len(shared_names()),
        "lines of tests": sum(
            file.read_text().count("\n") for file in (ROOT / "tests").rglob("*.py")
        ),
    }


@pytest.mark.parametrize("what", BUDGETS)
def test_a_budget_is_kept(what: str) -> None:
    assert measured()[what] <= BUDGETS[what], f"{what}: take away, or write an ADR that pays"


# Django's own, and what only groups them.
EVERYWHERE = {"admin", "api", "management", "migrations", "models", "templatetags", "formats"}


def test_the_map_of_the_house_names_every_package() -> None:
    """CONTRIBUTING.md says what each folder of the two apps, the site and `common` is for."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where things are")[2]
    on_the_map = set(re.findall(r"[`/]([a-z_]+)`", table))
    folders = {
        folder.name
        for package in PACKAGES
        for folder in (ROOT / package).iterdir()
        if folder.is_dir() and any(folder.glob("*.py"))
    }
    assert folders - EVERYWHERE <= on_the_map


def pages() -> dict[Path, str]:
    """The text of each page of Markdown, but for the documents that the demo searches."""
    folders = ("docs", "benchmarks", "deploy", "kbsite/demo/judgements")
    files = [*ROOT.glob("*.md"), *(one for each in folders for one in (ROOT / each).rglob("*.md"))]
    return {page: page.read_text() for page in files}


def test_lines_have_at_most_100_characters_and_decisions_60_lines() -> None:
    """But for fenced blocks and lines of one long link."""
    fence = re.compile(r"^ *(```+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
    for page, text in pages().items():
        lines = fence.sub("", text).splitlines()
        assert not [one for one in lines if len(one) > 100 and " " in one.strip(" -")], page
        assert page.name[0] != "0" or text.count("\n") <= 60, page


def test_a_page_of_the_manual_has_at_most_1500_words_and_a_place_on_the_site() -> None:
    site = set(re.findall(r"[\w-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    manual = {page.name: page.read_text() for page in (ROOT / "docs").glob("*.md")}
    assert site == manual.keys()
    assert not [name for name, text in manual.items() if len(text.split()) > 1500]


def test_links_between_documents_lead_somewhere_and_every_decision_is_in_the_index() -> None:
    links = {
        page: re.findall(r'(?:\]\(|src(?:set)?=")(?!https?:)([^)#\s"]*)(?:#([^)]*))?[)"]', text)
        for page, text in pages().items()
    }
    dead = [
        f"{page.relative_to(ROOT)}: {path}#{anchor}"
        for page, named in links.items()
        for path, anchor in named
        if not (target := (page.parent / path) if path else page).exists()
        or (anchor and target.suffix == ".md" and anchor not in _anchors(target))
    ]
    assert not dead
    index = ROOT / "docs" / "adr" / "README.md"
    decisions = {path.name for path in index.parent.glob("0*.md")}
    assert {path for path, _ in links[index]} == decisions
    assert len({name[:4] for name in decisions}) == len(decisions), "a number is taken twice"


def _anchors(page: Path) -> set[str]:
    """Those that renderers of Markdown give the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


# The enumeration with the weights, the signal's own module, the column of the weights.
MOST = 3
# What the kernel and its explanation stand on, by name: Reciprocal rank fusion's factor for both,
# the confidence, ties by keywords, embeddings, degradation without a model.
KERNEL = {Signal.VECTOR: 19, Signal.KEYWORD: 8, Signal.TITLE: 6}
# Other things are named “title” or “keyword” by the same words.
OPTIONAL_NAMES = {signal.value for signal in OPTIONAL}


def _names(whole: list[ast.AST]) -> set[str]:
    """The signals that a module names: `Signal.NAME`, and as a weight or its column."""
    named: set[str] = set()
    for node in whole:
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


@cache
def modules_by_signal() -> dict[str, set[str]]:
    """The modules that name each signal; a part is one place: its package."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, whole in nodes().items():
        if not module.startswith("search.presets_"):
            for name in _names(whole):
                found[name].add(re.sub(r"^(search\.parts\.\w+)\..*", r"\1", module))
    return found


@pytest.mark.parametrize("signal", Signal)
def test_few_modules_name_a_signal(signal: Signal) -> None:
    where = sorted(modules_by_signal()[signal.value])
    assert len(where) <= KERNEL.get(signal, MOST), "\n".join(where)
    assert len(where) >= MOST, "the test does not see where the signal is named"
