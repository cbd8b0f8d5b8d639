"""Patterns of paths, one a line: `*.pdf`, `reports/**`, `drafts/`."""

from __future__ import annotations

import re
from functools import lru_cache


def wanted(path: str, include: str, exclude: str) -> bool:
    """True for a path below the folder that is included (no pattern: all) and not excluded."""
    return (not include.strip() or matches(path, include)) and not matches(path, exclude)


def matches(path: str, patterns: str) -> bool:
    """True when a line of `patterns` fits; letters count alike in upper and lower case.

    Without a "/" a pattern is for the name alone, at any depth. With one it is for the whole
    path; a "/" at its end takes in all below that folder. `*` and `?` stop at "/", `**` does not.
    """
    return any(rule.fullmatch(path) for rule in _rules(patterns))


@lru_cache(maxsize=256)
def _rules(patterns: str) -> tuple[re.Pattern[str], ...]:
    lines = (line.strip() for line in patterns.splitlines())
    return tuple(_rule(line) for line in lines if line)


def _rule(line: str) -> re.Pattern[str]:
    anywhere = "/" not in line.rstrip("/")
    below = line.endswith("/")
    pieces = re.split(r"(\*\*/?|\*|\?)", line.strip("/"))
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(piece, re.escape(piece)) for piece in pieces)
    head = "(?:.*/)?" if anywhere else ""
    tail = "/.*" if below else ""
    return re.compile(head + body + tail, re.IGNORECASE | re.DOTALL)
