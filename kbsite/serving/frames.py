"""Room for the frames of Python's calls, which CPython maps in pieces of 16 KB."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

# Of the frame in places of 8 bytes. What it is in is mapped as the next power of two: a megabyte,
# half of it for the calls below, which is thirty times what the deepest request takes (a guess).
PLACES = 70_000


def with_room(function: Callable[P, T]) -> Callable[P, T]:
    """The function below a frame so large that the frames of its calls fit beside it.

    Otherwise CPython maps a piece for the calls beyond the last one, and unmaps it when they
    return: a page whose templates call back and forth across that line did so 360 times (CPython
    3.11). What of the large frame is never used takes no memory. Where a later CPython keeps what
    it has mapped, this module can go.
    """

    def below(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    roomy = cast(FunctionType, below)
    roomy.__code__ = roomy.__code__.replace(co_stacksize=PLACES)
    return below
