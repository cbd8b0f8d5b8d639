"""Values created on first use in each process, for objects that do not survive a fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_holders: weakref.WeakSet[PerProcess[Any]] = weakref.WeakSet()
# A forked child keeps inherited values alive: destroying sessions, sockets or pools joins threads
# that do not exist in the child, and would block forever.
_inherited: list[object] = []


class PerProcess(Generic[T]):
    """Holds one value per process; a forked child creates its own."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._values: list[T] = []
        _holders.add(self)

    def get(self) -> T:
        """The value, created by the first caller while others wait."""
        with self._lock:
            if not self._values:
                self._values.append(self._make())
            return self._values[0]

    def forget_inherited(self) -> None:
        """Abandon the parent's value and its lock, which another thread may have held."""
        _inherited.append(self._values)
        self._values = []
        self._lock = threading.Lock()


def _after_fork() -> None:
    for holder in list(_holders):
        holder.forget_inherited()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
