"""Search events, interactions with results, and search gaps."""

from search.analytics.models.events import Interaction, SearchEvent
from search.analytics.models.gaps import Gap, GapSign, GapStep, GapWording, Sign

__all__ = ["Gap", "GapSign", "GapStep", "GapWording", "Interaction", "SearchEvent", "Sign"]
