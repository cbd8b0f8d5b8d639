"""Why an address was not fetched, in words for the person who named it."""

from __future__ import annotations

from ingestion.errors import IngestionError


class FetchError(IngestionError):
    """Base of everything that fetching an address raises."""

    code = "fetch_failed"


class AddressRefused(FetchError):
    """The address may not be fetched from here, whatever is behind it."""

    code = "address_refused"


class TooLong(FetchError):
    """The answer took more time or bytes than one address may."""

    code = "fetch_limit"


class PauseWanted(FetchError):
    """The server is overloaded or asked for a pause of `seconds`."""

    code = "fetch_later"

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class RobotsRefused(FetchError):
    """The site asks robots not to fetch the address."""

    code = "robots_refused"
