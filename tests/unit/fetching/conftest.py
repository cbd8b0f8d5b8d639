"""A local site, and policies that let its address through, or do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ingestion.intake.url_fetching import Policy
from ingestion.intake.url_guard import Guard, read_rules
from tests.support.local_site import Site, local_site


@pytest.fixture
def site() -> Iterator[Site]:
    with local_site() as running:
        yield running


@pytest.fixture
def open_policy(site: Site) -> Policy:
    """Lets the local site through, and nothing else that is internal."""
    return Policy(guard=Guard(allow=read_rules([f"127.0.0.1:{site.port}"])), seconds=5)
