"""Requests to an ASGI application without a server, and the site under gunicorn."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asgiref.testing import ApplicationCommunicator

from tests.faults.harness import environment

PROJECT = Path(__file__).resolve().parents[2]


def scope(path: str = "/", method: str = "GET") -> dict[str, Any]:
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"testserver")], "scheme": "http", "client": ("127.0.0.1", 1),
        "server": ("testserver", 80),
    }  # fmt: skip


async def response(
    application: Any, given: dict[str, Any], *body: bytes
) -> tuple[int, list[bytes]]:
    """The status and the parts of the body. `body` are the parts of the request's."""
    client = ApplicationCommunicator(application, given)
    for part in body:
        await client.send_input({"type": "http.request", "body": part, "more_body": True})
    await client.send_input({"type": "http.request", "body": b""})
    started = await _next(client)
    parts = []
    while True:
        message = await _next(client)
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            await client.wait(60)
            return started["status"], parts


async def _next(client: ApplicationCommunicator) -> Any:
    """The application's next message, or its error as soon as there is one."""
    message = asyncio.ensure_future(client.output_queue.get())
    ended = {message, client.future}
    await asyncio.wait(ended, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    if message.done():
        return message.result()
    message.cancel()
    return await client.receive_output(0.1)


@contextmanager
def gunicorn(
    config: str = "kbsite.gunicorn", workers: int = 1, **more: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The site as it runs in production, with one worker process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "--config", f"python:{config}"),
                *("--bind", f"fd://{listener.fileno()}", "--workers", str(workers)),
                # It waits as long for the clients that are connected.
                *("--graceful-timeout", "1"),
            ],
            cwd=PROJECT,
            env=environment(**{"DATABASE_POOL": "4", **more}),
            pass_fds=(listener.fileno(),),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            yield process, f"http://127.0.0.1:{port}"
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()
