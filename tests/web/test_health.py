"""What a load balancer or a monitor asks."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from django.test import Client

from kbsite.embedded import EmbeddedServers


@pytest.mark.django_db
def test_all_is_well(client: Client, servers: EmbeddedServers) -> None:
    response = client.get("/health/")
    assert response.status_code == 200
    assert response.json() == {"database": True, "redis": True, "storage": True}


@pytest.mark.django_db
def test_says_what_does_not_answer(client: Client, servers: EmbeddedServers) -> None:
    servers.valkey.stop()
    try:
        response = client.get("/health/")
    finally:
        servers.start()
    assert response.status_code == 503
    assert response.json() == {"database": True, "redis": False, "storage": True}


@pytest.mark.django_db
def test_says_that_nothing_can_be_stored(
    client: Client, servers: EmbeddedServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def __init__(self, **options: Any) -> None: ...

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None: ...

        def write(self, content: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kbsite.operations.endpoints.tempfile.TemporaryFile", Full)
    response = client.get("/health/")
    assert response.status_code == 503
    assert response.json() == {"database": True, "redis": True, "storage": False}


@pytest.mark.django_db
def test_leaves_nothing_in_the_storage(
    client: Client, servers: EmbeddedServers, settings: Any, tmp_path: Any
) -> None:
    settings.MEDIA_ROOT = str(tmp_path / "files")
    assert client.get("/health/").json()["storage"]
    assert list(tmp_path.rglob("*")) == [tmp_path / "files"]
