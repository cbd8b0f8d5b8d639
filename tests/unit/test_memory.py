"""CPython's memory: what is loaded is no garbage, and calls map no frames again and again."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from threading import Thread

import pytest

from kbsite.serving.memory import with_room

# In a process of its own: the collector's settings are those of a whole process.
SPARED = """
import gc, weakref
from kbsite.serving.memory import spare_collections

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


CALLS = 1_000


def leaf() -> None:
    """The call across the line, at some depth."""


def climb(depth: int) -> int:
    """The most pages that CALLS calls mapped, one after another, at one of so many depths."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        leaf()
    here = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before
    return max(here, climb(depth - 1)) if depth else here


def in_a_new_thread(function: Callable[[int], int]) -> int:
    """What the function finds at 300 depths, below no frames but the thread's own."""
    found: list[int] = []
    thread = Thread(target=lambda: found.append(function(300)))
    thread.start()
    thread.join()
    return found[0]


def test_calls_at_no_depth_map_memory_each_time() -> None:
    assert in_a_new_thread(with_room(climb)) < CALLS / 10


def test_arguments_results_and_errors_pass() -> None:
    assert with_room(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        with_room(divmod)(7, 0)
