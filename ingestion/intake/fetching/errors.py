"""Errors of fetching an address, with messages for the person who entered it."""

from __future__ import annotations

from ingestion.errors import IngestionError


class FetchError(IngestionError):
    """Base class of all errors of fetching an address."""

    code = "fetch_failed"


class AddressRefused(FetchError):
    """The address may not be fetched from this server."""

    code = "address_refused"


class TooLong(FetchError):
    """The response exceeded the limit of time or bytes for one address."""

    code = "fetch_limit"


class PauseWanted(FetchError):
    """The server failed or is overloaded; `seconds` is how long to wait before a retry."""

    code = "fetch_later"

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class RobotsRefused(FetchError):
    """The site's robots.txt disallows the address."""

    code = "robots_refused"
