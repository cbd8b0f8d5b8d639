"""Requests to an ASGI application, without a server."""

from __future__ import annotations

import asyncio
from typing import Any

from asgiref.testing import ApplicationCommunicator


def scope(path: str = "/", method: str = "GET") -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"testserver")],
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("testserver", 80),
    }


async def response(application: Any, given: dict[str, Any]) -> tuple[int, list[bytes]]:
    """The status and the parts of the body."""
    client = ApplicationCommunicator(application, given)
    await client.send_input({"type": "http.request", "body": b""})
    started = await _next(client)
    parts = []
    while True:
        message = await _next(client)
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            await client.wait(10)
            return started["status"], parts


async def _next(client: ApplicationCommunicator) -> Any:
    """The application's next message, or its error as soon as there is one."""
    message = asyncio.ensure_future(client.output_queue.get())
    ended = {message, client.future}
    await asyncio.wait(ended, timeout=10, return_when=asyncio.FIRST_COMPLETED)
    if message.done():
        return message.result()
    message.cancel()
    return await client.receive_output(0.1)
