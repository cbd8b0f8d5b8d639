"""Three-way merge of a text's edit into a newer version of the text, word by word. Pure.

Like a merge of lines in version control: the words before and after each change must be the same
in the newer version; the rest of the text may differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_TOKENS = re.compile(r"\w+|[^\w\s]|\s+")


def rebased(original: str, edited: str, fresh: str) -> str | None:
    """`fresh` with the changes from `original` to `edited`; None if they conflict.

    rebased(a, b, a) is b, and rebased(a, a, c) is c.
    """
    old, new, now = _tokens(original), _tokens(edited), _tokens(fresh)
    where = _positions(old, now)
    pieces: list[str] = []
    end = 0
    for tag, first, last, new_first, new_last in _matcher(old, new).get_opcodes():
        if tag == "equal":
            continue
        span = _span(where, first, last, len(old), len(now))
        if span is None or span[0] < end:
            return None
        pieces += now[end : span[0]]
        pieces += new[new_first:new_last]
        end = span[1]
    return "".join([*pieces, *now[end:]])


def _tokens(text: str) -> list[str]:
    return _TOKENS.findall(text)


def _matcher(first: Sequence[str], right: Sequence[str]) -> SequenceMatcher[str]:
    """A token comparison that treats all whitespace as equal, since line breaks may move."""
    return SequenceMatcher(
        None,
        [" " if token.isspace() else token for token in first],
        [" " if token.isspace() else token for token in right],
        autojunk=False,
    )


def _positions(old: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Old token position -> new position, for the tokens that remain."""
    blocks = _matcher(old, now).get_matching_blocks()
    return {block.a + i: block.b + i for block in blocks for i in range(block.size)}


def _span(
    where: dict[int, int], first: int, last: int, old_length: int, new_length: int
) -> tuple[int, int] | None:
    """[start, end) of old[first:last] in the new text; None unless whole, with its neighbours.

    A neighbour may be missing only at the beginning or end of the new text.
    """
    inside = [where.get(position) for position in range(first, last)]
    before = where.get(first - 1)
    after = where.get(last) if last < old_length else None
    start = inside[0] if inside else (before + 1 if before is not None else after)
    if start is None or any(held != start + i for i, held in enumerate(inside)):
        return None
    end = start + (last - first)
    left_fits = before == start - 1 if before is not None else start == 0
    right_fits = after == end if after is not None else end == new_length
    if first == 0 and before is None and start > 0:
        left_fits = bool(inside) or after == start  # the new text has more before it
    if last == old_length and after is None and end < new_length:
        right_fits = bool(inside) or before == end - 1
    return (start, end) if left_fits and right_fits else None
