"""A server that speaks S3 over HTTP, with an empty bucket, and the variables that lead there."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from moto.server import ThreadedMotoServer

NAME = "house"


@dataclass(frozen=True)
class Bucket:
    """A running server's bucket."""

    server: ThreadedMotoServer
    variables: dict[str, str]
    address: str = f"s3://{NAME}/steelyard"


@contextmanager
def bucket_server() -> Iterator[Bucket]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    # All servers of a process have the same buckets.
    urllib.request.urlopen(f"{url}/moto-api/reset", data=b"").close()
    urllib.request.urlopen(urllib.request.Request(f"{url}/{NAME}", method="PUT")).close()
    variables = {
        "AWS_ENDPOINT": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "something",
    }  # fmt: skip
    try:
        yield Bucket(server, variables)
    finally:
        server.stop()
