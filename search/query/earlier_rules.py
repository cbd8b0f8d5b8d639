"""Which rules earlier versions shipped: how an update knows a row that nobody has edited."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

from search.query.classify import ClassifierRule

# The fingerprints of rules that earlier versions shipped. A row that still has one was never
# edited, and gives way to today's rules; what an administrator has changed is left alone.
EARLIER: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "compares two things": ("3b40f15bcbb6d2e4",),
        "speaks of a failure": ("58fe05ce31c56dd4",),
        "asks for code": ("0cbf4dc1558910a4",),
        "asks what a code name is": ("9ff78cbfc1ba3f73",),
        "asks for a definition": ("eddc5be3c2b39795",),
        "asks what or why": ("6c9afcf44b2265f8",),
    }
)


def fingerprint(rule: ClassifierRule, position: int) -> str:
    """What a rule decides and where it stands, as 16 hexadecimal digits."""
    parts = (str(position), rule.pattern, rule.predicate, rule.query_class, f"{rule.confidence:g}")
    return sha256("\0".join(parts).encode()).hexdigest()[:16]
