"""Blocks on their way from the child process."""

from __future__ import annotations

from ingestion.parsing.child.child import decode_blocks, encode_block

from .shorthand import code, h, li, p, table


def test_wire_carries_every_kind() -> None:
    blocks = [
        h(2, "Größe", page=3), p("line\nline\u2028 \U0001f600"), li(1, "item"), code("  x\n\ty"),
        table(("a", "b"), ("1", ""), page=4), table(("a", "b"), header=False),
    ]  # fmt: skip
    assert list(decode_blocks(map(encode_block, blocks))) == blocks
