"""CPython's memory: when it looks for garbage, and where it puts the frames of calls.

A search makes thousands of short-lived objects and hardly any cycles. With Python's own settings
the collector looks through all that was imported again and again (160,000 objects, 0.1 s each
time) and finds nothing: a quarter of a web process's processor time, and a seventh of every
process' start. Frames are mapped in pieces of 16 KB (`with_room`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

# Container objects made and not yet freed, beyond which Python looks for cycles among the young
# ones; its default is 700. A guess: a higher one lets more cycles wait for their collection. A
# measurement of web requests at 100,000 (with their model loaded) found 23% less processor time.
YOUNG_OBJECTS = 50_000
# Collections of the younger generation before the next one is looked through: Python's defaults.
OLDER = 10

_paused = False


def pause_collections() -> None:
    """Collect no garbage until `resume_collections`. For the time in which a process loads."""
    global _paused
    _paused = gc.isenabled()
    gc.disable()


def resume_collections() -> None:
    """Collect garbage again if it was paused, and exempt all present objects from it."""
    if _paused:
        gc.freeze()
        gc.enable()


def spare_collections() -> None:
    """Exempt all present objects from garbage collection, and collect the new ones less often.

    For a process that has loaded its views and models, once: what is garbage by now is freed
    first. Reference counts free almost all objects as before; only cycles wait.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, OLDER, OLDER)


# Of the frame in places of 8 bytes. What it is in is mapped as the next power of two: a megabyte,
# half of it for the calls below, which is thirty times what the deepest request takes (a guess).
PLACES = 70_000


def with_room(function: Callable[P, T]) -> Callable[P, T]:
    """The function below a frame so large that the frames of its calls fit beside it.

    Otherwise CPython maps a piece for the calls beyond the last one, and unmaps it when they
    return: a page whose templates call back and forth across that line did so 360 times (CPython
    3.11). What of the large frame is never used takes no memory. Where a later CPython keeps what
    it has mapped, this can go.
    """

    def below(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    roomy = cast(FunctionType, below)
    roomy.__code__ = roomy.__code__.replace(co_stacksize=PLACES)
    return below
