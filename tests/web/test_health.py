"""What a load balancer or a monitor asks."""

from __future__ import annotations

import pytest
from django.test import Client

from kbsite.embedded import EmbeddedServers


@pytest.mark.django_db
def test_all_is_well(client: Client, servers: EmbeddedServers) -> None:
    response = client.get("/health/")
    assert response.status_code == 200
    assert response.json() == {"database": True, "redis": True}


@pytest.mark.django_db
def test_says_what_does_not_answer(client: Client, servers: EmbeddedServers) -> None:
    servers.valkey.stop()
    try:
        response = client.get("/health/")
    finally:
        servers.start()
    assert response.status_code == 503
    assert response.json() == {"database": True, "redis": False}
