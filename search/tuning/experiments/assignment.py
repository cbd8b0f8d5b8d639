"""Who sees what: the same visitor always the same, and nobody's turn decided by who came before.

Pure.
"""

from __future__ import annotations

import hashlib

A, B = "a", "b"


def part(visitor: str, salt: str) -> float:
    """A visitor's place in [0, 1), even over visitors and another one for each salt."""
    digest = hashlib.sha256(f"{salt}\0{visitor}".encode()).digest()
    return int.from_bytes(digest[:7]) / 2**56


def takes_part(visitor: str, salt: str, share: float) -> bool:
    """Whether the visitor is among the share, 0 to 1, of all who take part.

    Whoever takes part at a share does so at every larger one.
    """
    return part(visitor, f"{salt}:part") < share


def arm(visitor: str, salt: str) -> str:
    """The visitor's arm, A or B, each of half of them; it says nothing of who takes part."""
    return A if part(visitor, f"{salt}:arm") < 0.5 else B
