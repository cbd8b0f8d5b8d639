"""Garbage collection: what is loaded is no garbage."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: the collector's settings are those of a whole process.
SPARED = """
import gc, weakref
from kbsite.apps import spare_collections

class Knot: pass

def knot():
    made = Knot()
    made.itself = made
    return weakref.ref(made)

before = knot()
spare_collections()
assert before() is None, "garbage was kept for good"
assert gc.get_freeze_count() > 10_000, "what is loaded is looked through again"
later = knot()
for _ in range(2_000):  # beyond Python's own threshold
    knot()
assert later() is not None, "collected as often as before"
gc.collect()
assert later() is None, "cycles are never freed"
"""


def test_loaded_objects_are_exempt_and_new_cycles_are_still_freed() -> None:
    subprocess.run([sys.executable, "-c", SPARED], check=True)
