"""Which requests may use a thread now, which wait for one, and which are refused at once.

A request that waited longer than its reader does costs as much as one in time and helps nobody.
So the queue is bounded by the time that it takes, and what exceeds it gets a 503 without work.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count

# The weight of the newest duration in the running mean: a guess, about the last ten requests.
_NEWEST = 0.1
# The most that may wait for each place, whatever the estimate says: memory, if it is wrong.
_WAITING_PER_PLACE = 8
_SAFE = ("GET", "HEAD", "OPTIONS")
# Of the API, what readers' programs POST.
_ASKING = ("/api/v1/search/", "/api/v1/searches/", "/api/v1/answers/", "/api/v1/auth/")


class Rank(IntEnum):
    """The order in which waiting requests are served."""

    SEARCH = 0
    AGENT = 1
    UPLOAD = 2
    ADMIN = 3


def rank_of(path: str, method: str, *, takes_files: bool = False) -> Rank:
    """The rank of a request; `takes_files` if the address accepts uploads."""
    if takes_files and method not in _SAFE:
        return Rank.UPLOAD
    if path.startswith("/admin/"):
        return Rank.ADMIN
    if path.startswith("/api/v1/") and method not in _SAFE and not path.startswith(_ASKING):
        return Rank.ADMIN
    return Rank.SEARCH


class Busy(Exception):
    """No place became free in time; `retry_after` are whole seconds, at least 1."""

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


@dataclass(order=True)
class _Waiting:
    rank: Rank
    number: int
    turn: asyncio.Future[None] = field(compare=False)


class Place:
    """The right to use one thread, until `leave`, which may be called more than once.

    `is_used` is true from when a thread works in it, which will then leave it.
    """

    def __init__(self, admission: Admission, rank: Rank) -> None:
        self.is_used = False
        self._admission: Admission | None = admission
        self._rank = rank
        self._began = time.monotonic()

    def leave(self) -> None:
        """Give the place to the next one; nothing if that was done."""
        if self._admission is not None:
            admission, self._admission = self._admission, None
            admission._left(self._rank, time.monotonic() - self._began)


class Admission:
    """Hands out `places` places, one for each thread; all of it runs in one event loop.

    Searches may take every place, all other ranks together only half of them, so that slow pages
    of the admin, model answers of agents and uploads leave threads for readers.
    """

    def __init__(self, places: int, *, patience: float) -> None:
        """`patience`: the most seconds between arrival and answer that are planned for."""
        self._free = places
        self._free_for_others = max(1, places // 2)
        self._places = places
        self._patience = patience
        self._waiting: list[_Waiting] = []
        self._numbers = count()
        self._mean = 0.0  # seconds that a place is held

    async def enter(self, rank: Rank) -> Place:
        """A place, at once or after a wait. Raises Busy."""
        if self._is_free_for(rank) and not self._ahead_of(rank):
            return self._take(rank)
        expected = self._mean * (1 + (self._ahead_of(rank) + 1) / self._places)
        if expected > self._patience or len(self._waiting) >= _WAITING_PER_PLACE * self._places:
            raise Busy(self._retry_after())
        mine = _Waiting(rank, next(self._numbers), asyncio.get_running_loop().create_future())
        heapq.heappush(self._waiting, mine)
        try:
            await asyncio.wait((mine.turn,), timeout=self._patience - self._mean)
        except asyncio.CancelledError:
            self._withdraw(mine)
            raise
        if not mine.turn.done():
            self._withdraw(mine)
            raise Busy(self._retry_after())
        return Place(self, rank)

    def _retry_after(self) -> int:
        return max(1, math.ceil(self._mean * (1 + len(self._waiting) / self._places)))

    def _ahead_of(self, rank: Rank) -> int:
        """How many waiting requests are served before a new one of this rank."""
        return sum(each.rank <= rank and self._may_pass(each.rank) for each in self._waiting)

    def _may_pass(self, rank: Rank) -> bool:
        """Whether the rank's own bound lets it take the next free place."""
        return rank is Rank.SEARCH or self._free_for_others > 0

    def _is_free_for(self, rank: Rank) -> bool:
        return self._free > 0 and self._may_pass(rank)

    def _take(self, rank: Rank) -> Place:
        self._free -= 1
        self._free_for_others -= rank is not Rank.SEARCH
        return Place(self, rank)

    def _left(self, rank: Rank, seconds: float) -> None:
        # One long download or report must not count as if every search took as long.
        seconds = min(seconds, self._patience)
        self._mean += (seconds - self._mean) * (_NEWEST if self._mean else 1)
        self._give_back(rank)

    def _give_back(self, rank: Rank) -> None:
        self._free += 1
        self._free_for_others += rank is not Rank.SEARCH
        self._next()

    def _next(self) -> None:
        """Give free places to those who wait, in their order."""
        # Once the others' half is used up only searches pass, and they come first in the heap.
        while self._waiting and self._is_free_for(self._waiting[0].rank):
            first = heapq.heappop(self._waiting)
            self._free -= 1
            self._free_for_others -= first.rank is not Rank.SEARCH
            first.turn.set_result(None)

    def _withdraw(self, mine: _Waiting) -> None:
        if mine.turn.done():  # given a place in the same moment
            self._give_back(mine.rank)
        else:
            self._waiting.remove(mine)
            heapq.heapify(self._waiting)
