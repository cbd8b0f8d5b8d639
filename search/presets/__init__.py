"""The profiles that ship, as data, one file a seed system; and what installs them."""

from search.presets.concept_rag import CONCEPT_RAG
from search.presets.indexfoundry import INDEXFOUNDRY
from search.presets.installing import install_presets as install
from search.presets.mind import MIND
from search.presets.own import BASELINES, DEFAULT
from search.presets.physical_ai import PHYSICAL_AI
from search.presets.preset import Preset
from search.presets.shipped import PRESETS, SEEDS
from search.presets.textbook import TEXTBOOK

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
    "install",
]
