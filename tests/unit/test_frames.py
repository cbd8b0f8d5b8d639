"""The room for frames: calls across the end of a mapped piece map no other one."""

from __future__ import annotations

import resource
from collections.abc import Callable
from threading import Thread

import pytest

from kbsite.serving.frames import with_room

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
