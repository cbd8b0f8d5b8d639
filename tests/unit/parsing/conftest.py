"""Parsing a piece of content as a person would upload it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ingestion.domain import ParsedDocument
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.protocol import ParseLimits

Parse = Callable[..., ParsedDocument]


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """parse(content, file_name, **limits): the document, read in a child process."""

    def run(content: bytes | str, file_name: str, **limits: int) -> ParsedDocument:
        # The stored name says nothing, as in the real store.
        path = tmp_path / "stored"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return parse_file(path, file_name, ParseLimits(**limits))

    return run
