"""Patterns of files that a watched folder includes or leaves out."""

from __future__ import annotations

import os
import re
from functools import lru_cache

AS_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
AS_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_included(path: str, include: str, exclude: str) -> bool:
    """True for a path that is included (without patterns: all are) and not excluded."""
    return (not include.strip() or matches(path, include)) and not matches(path, exclude)


def matches(path: str, patterns: str) -> bool:
    """True if a line of `patterns` matches, ignoring case.

    Without a "/" a pattern applies to the name, at any depth; with one, to the whole path. A "/" at
    its end includes all below that folder. `*` and `?` do not match "/", `**` does.
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
