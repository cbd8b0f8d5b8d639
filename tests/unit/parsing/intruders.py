"""Code in the place of the parser of plain text, in a fork server of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from ingestion.parsing.child import fork_client

BOOT = """
import sys
sys.path.insert(0, sys.argv[1])
from ingestion.domain import Block, BlockKind
from ingestion.parsing.child import child, fork_server, isolation
from ingestion.parsing.formats import text
from ingestion.parsing.protocol import Extraction
{before}
def attempt(source):
{body}

class Intruder:
    name = "intruder"
    def extract(self, source):
        return Extraction(iter([Block(BlockKind.PARAGRAPH, str(attempt(source)))]))

text.PARSER = Intruder()
fork_server.serve(int(sys.argv[2]))
"""


@contextmanager
def intruding(body: str, before: str = "") -> Iterator[None]:
    """Within the block a text file's content is what the function `body` of its source returns.

    `before` runs once, in the fork server.
    """
    indented = "\n".join(f"    {line}" for line in body.strip().splitlines())
    boot = BOOT.replace("{body}", indented).replace("{before}", before)
    fork_client.close_servers()
    try:
        with mock.patch.object(fork_client, "_BOOT", boot):
            yield
    finally:
        fork_client.close_servers()
