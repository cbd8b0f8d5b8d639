"""The site with one address more, /slow/: an answer whose model takes its time.

The searching, the quotes and the events are real; between them the stream waits as it would for a
language model. For `benchmarks.open_streams` alone.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

from django.conf import settings

settings.ROOT_URLCONF = "benchmarks.slow_urls"
SECONDS, PAUSE = float(os.environ.get("SLOW_SECONDS", "60")), 0.5


async def frames(question: str) -> AsyncIterator[str]:
    """The events of an answer, then a frame every half second."""
    from search.answers import answering
    from search.answers.request import AnswerRequest

    request = AnswerRequest(question, viewer=None, is_recorded=False)
    async for event in answering.events(request):
        yield f"event: {type(event).__name__}\ndata: {{}}\n\n"
    for number in range(int(SECONDS / PAUSE)):
        await asyncio.sleep(PAUSE)
        yield f"event: token\ndata: {number}\n\n"


from kbsite.asgi import application  # noqa: E402  # after the setting

__all__ = ["application"]
