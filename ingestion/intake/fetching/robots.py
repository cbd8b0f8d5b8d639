"""What a site's robots.txt lets us fetch, and how fast (RFC 9309)."""

from __future__ import annotations

from dataclasses import replace

from protego import Protego

from ingestion.intake.fetching.errors import AddressRefused, FetchError, PauseWanted, RobotsRefused
from ingestion.intake.fetching.fetch import Policy, fetch
from ingestion.intake.fetching.guard import Target, read_target
from ingestion.intake.fetching.inflating import MIB

# RFC 9309 wants at least 500 kB read; what stands beyond is left out.
_LARGEST = MIB
# A site that asks for more would never be read to its end.
LONGEST_DELAY = 60.0


class Robots:
    """The rules of each host, read once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = replace(policy, size=min(policy.size, _LARGEST))
        self._rules: dict[str, Protego | None] = {}

    def check(self, target: Target) -> None:
        """Raises RobotsRefused where robots.txt forbids it, PauseWanted where that fails."""
        rules = self._of(target)
        if rules is not None and not rules.can_fetch(target.url, self._policy.agent):
            raise RobotsRefused(f"The robots.txt of {target.host} asks not to fetch this address.")

    def delay(self, target: Target) -> float:
        """The seconds that the site wants between two requests; 0 where it says nothing."""
        rules = self._of(target)
        wanted = rules.crawl_delay(self._policy.agent) if rules is not None else None
        return min(max(float(wanted or 0), 0.0), LONGEST_DELAY)

    def sitemaps(self, target: Target) -> list[str]:
        """The sitemaps that robots.txt names."""
        rules = self._of(target)
        return list(rules.sitemaps) if rules is not None else []

    def _of(self, target: Target) -> Protego | None:
        """The rules of a host; None where it has none, and all may be fetched."""
        if target.origin not in self._rules:
            self._rules[target.origin] = self._read(target)
        return self._rules[target.origin]

    def _read(self, target: Target) -> Protego | None:
        place = read_target("/robots.txt", target.url)
        try:
            with fetch(place, self._policy) as answer:
                return Protego.parse(answer.file.read().decode("utf-8", "replace"))
        except (PauseWanted, AddressRefused):
            # A site that cannot say what it allows allows nothing for now.
            raise
        except FetchError:
            return None
