"""Coroutines that run without an event loop, in the caller's thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from common.database import at_once, completed, in_thread


async def _thread() -> int:
    return await completed(in_thread(threading.get_ident))


def test_work_runs_in_the_callers_thread() -> None:
    assert at_once(_thread()) == threading.get_ident()


def test_an_error_is_the_callers() -> None:
    async def failing() -> None:
        await in_thread(lambda: int("x"))

    with pytest.raises(ValueError, match="invalid literal"):
        at_once(failing())


def test_a_coroutine_that_waits_is_refused_and_closed() -> None:
    ends = []

    async def waiting() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ends.append("closed")

    with pytest.raises(RuntimeError, match="needs an event loop"):
        at_once(waiting())
    assert ends == ["closed"]
