"""The profiles that ship, as data; `search.tuning.installing` installs them."""

from search.presets.default import BASELINES, DEFAULT, Preset
from search.presets.shipped import (
    CONCEPT_RAG,
    INDEXFOUNDRY,
    MIND,
    PHYSICAL_AI,
    PRESETS,
    SEEDS,
    TEXTBOOK,
)

__all__ = [
    "BASELINES",
    "CONCEPT_RAG",
    "DEFAULT",
    "INDEXFOUNDRY",
    "MIND",
    "PHYSICAL_AI",
    "PRESETS",
    "SEEDS",
    "TEXTBOOK",
    "Preset",
]
