"""Search gaps in the admin."""

from search.analytics.admin.gaps import GapAdmin

__all__ = ["GapAdmin"]
