"""Values made on first use in each process, for what does not survive a fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_holders: weakref.WeakSet[PerProcess[Any]] = weakref.WeakSet()
# A forked child never destroys what it inherited: sessions, sockets and pools join threads
# that did not come along, and would wait for ever.
_inherited: list[object] = []


class PerProcess(Generic[T]):
    """Holds one value for each process; a forked child makes its own."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._values: list[T] = []
        _holders.add(self)

    def get(self) -> T:
        """The value, made by the first caller while the others wait."""
        with self._lock:
            if not self._values:
                self._values.append(self._make())
            return self._values[0]

    def forget_inherited(self) -> None:
        """Leaves the parent's value and its lock, which another thread may have held."""
        _inherited.append(self._values)
        self._values = []
        self._lock = threading.Lock()


def _after_fork() -> None:
    for holder in list(_holders):
        holder.forget_inherited()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
