"""Admission control: which requests get a thread, which wait for one, which are refused.

A request that waited longer than its reader does costs as much as one in time and helps nobody.
So the queue is bounded by the time that it takes, and what exceeds it gets a 503 without work.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from dataclasses import dataclass, field
from itertools import count

from common.api.requests import Rank

# The weight of the newest search in the running mean: a guess, about the last ten.
_NEWEST = 0.1
# This many are admitted even on the slowest machine, or it would serve nobody.
_ALWAYS = 2
# The most that may wait for each place, whatever the estimate says: memory, if it is wrong.
_WAITING_PER_PLACE = 8
# Places beyond the others that only staff take, with a thread each. And for these the most seconds
# of waiting, and the most that wait: who comes to stop an overload has patience. All are guesses.
RESERVED = 1
_STAFF_SECONDS, _STAFF_WAITING = 5.0, 16


class Busy(Exception):
    """No place became free in time; `retry_after` is in whole seconds, at least 1."""

    def __init__(self, retry_after: int, rank: Rank) -> None:
        super().__init__()
        self.retry_after = retry_after
        self.is_search = rank is Rank.SEARCH


@dataclass(order=True)
class _Waiting:
    rank: Rank
    number: int
    turn: asyncio.Future[None] = field(compare=False)


class Place:
    """The right to use one thread, until `leave`, which may be called more than once.

    `is_used` is true from when a thread works in it, which will then leave it.
    """

    def __init__(
        self, admission: Admission, rank: Rank, *, is_measured: bool, is_reserved: bool = False
    ) -> None:
        self.is_used = False
        self._admission: Admission | None = admission
        self._rank = rank
        self._is_reserved = is_reserved
        self._is_measured = is_measured
        self._beside = admission.in_use
        self._began = time.monotonic()

    def leave(self) -> None:
        """Release the place for the next request; nothing if it was released already."""
        if self._admission is None:
            return
        admission, self._admission = self._admission, None
        if self._is_measured:
            beside = (self._beside + admission.in_use) / 2
            admission.note((time.monotonic() - self._began) / beside)
        if self._is_reserved:
            admission.give_back_reserved()
        else:
            admission.give_back(self._rank)


class Admission:
    """Hands out `places` places, one for each thread; all of it runs in one event loop.

    Searches may take every place, all other ranks together only half of them, so that slow pages
    of the admin, model answers of agents and uploads leave threads for readers. Signing in and
    administration have RESERVED places besides, so that readers leave a thread for staff.

    Threads share the processor: with n in use each takes n times as long. What is measured is the
    time of a search divided by the number of places in use, which is the time between two answers,
    and a request is expected to take that for itself and for each one before it.
    """

    def __init__(self, places: int, *, patience: float) -> None:
        """`patience`: the most seconds between arrival and answer that are planned for."""
        self._free = places
        self._free_for_others = max(1, places // 2)
        self._places = places
        self._patience = patience
        self._waiting: list[_Waiting] = []
        self._numbers = count()
        self._each = 0.0  # seconds between two answers, 0 before the first
        self._reserved = asyncio.Semaphore(RESERVED)
        self._staff_waiting = 0

    @property
    def in_use(self) -> int:
        return self._places - self._free

    def note(self, seconds: float) -> None:
        """Count the seconds of one search, divided by the places in use meanwhile."""
        self._each += (seconds - self._each) * (_NEWEST if self._each else 1)

    async def enter(self, rank: Rank, *, is_measured: bool = False) -> Place:
        """A place, at once or after a wait. Raises Busy.

        `is_measured` for searches, whose time says how fast the machine is at the moment: an answer
        that waits for its model, or a download, says nothing about that.
        """
        ahead = self._ahead_of(rank)
        is_free = self._is_free_for(rank) and not ahead
        is_in_time = self._each * (self.in_use + ahead + 1) <= self._patience
        is_full = len(self._waiting) >= _WAITING_PER_PLACE * self._places
        if is_free and (is_in_time or self.in_use < _ALWAYS):
            self._free -= 1
            self._free_for_others -= rank is not Rank.SEARCH
        elif rank is Rank.STAFF:
            return await self._enter_reserved()
        elif is_full or not is_in_time:
            raise Busy(self._retry_after(), rank)
        else:
            await self._wait(rank)
        return Place(self, rank, is_measured=is_measured)

    async def _enter_reserved(self) -> Place:
        if self._staff_waiting >= _STAFF_WAITING:
            raise Busy(self._retry_after(), Rank.STAFF)
        self._staff_waiting += 1
        try:
            async with asyncio.timeout(_STAFF_SECONDS):
                await self._reserved.acquire()
        except TimeoutError:
            raise Busy(self._retry_after(), Rank.STAFF) from None
        finally:
            self._staff_waiting -= 1
        return Place(self, Rank.STAFF, is_measured=False, is_reserved=True)

    async def _wait(self, rank: Rank) -> None:
        mine = _Waiting(rank, next(self._numbers), asyncio.get_running_loop().create_future())
        heapq.heappush(self._waiting, mine)
        try:
            await asyncio.wait((mine.turn,), timeout=self._patience - self._each)
        except asyncio.CancelledError:
            self._withdraw(mine)
            raise
        if not mine.turn.done():
            self._withdraw(mine)
            raise Busy(self._retry_after(), rank)

    def _retry_after(self) -> int:
        return max(1, math.ceil(self._each * (self.in_use + len(self._waiting))))

    def _ahead_of(self, rank: Rank) -> int:
        """How many waiting requests are served before a new one of this rank."""
        return sum(each.rank <= rank and self._may_pass(each.rank) for each in self._waiting)

    def _may_pass(self, rank: Rank) -> bool:
        """Whether the rank's own bound lets it take the next free place."""
        return rank is Rank.SEARCH or self._free_for_others > 0

    def _is_free_for(self, rank: Rank) -> bool:
        return self._free > 0 and self._may_pass(rank)

    def give_back(self, rank: Rank) -> None:
        """Free a place of this rank for the next request."""
        self._free += 1
        self._free_for_others += rank is not Rank.SEARCH
        self._next()

    def give_back_reserved(self) -> None:
        """Free a place of the reserved share."""
        self._reserved.release()

    def _next(self) -> None:
        """Assign free places to the waiting requests, in their order."""
        # Once the others' half is used up only searches pass, and they come first in the heap.
        while self._waiting and self._is_free_for(self._waiting[0].rank):
            first = heapq.heappop(self._waiting)
            self._free -= 1
            self._free_for_others -= first.rank is not Rank.SEARCH
            first.turn.set_result(None)

    def _withdraw(self, mine: _Waiting) -> None:
        if mine.turn.done():  # it was given a place at the same moment
            self.give_back(mine.rank)
        else:
            self._waiting.remove(mine)
            heapq.heapify(self._waiting)
