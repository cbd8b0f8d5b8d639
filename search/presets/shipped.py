"""All profiles that ship, in the order in which they are installed."""

from __future__ import annotations

from search.presets.concept_rag import CONCEPT_RAG
from search.presets.indexfoundry import INDEXFOUNDRY
from search.presets.mind import MIND
from search.presets.own import BASELINES, DEFAULT
from search.presets.physical_ai import PHYSICAL_AI
from search.presets.textbook import TEXTBOOK

SEEDS = (*INDEXFOUNDRY, *CONCEPT_RAG, *TEXTBOOK, *MIND, *PHYSICAL_AI)
PRESETS = (DEFAULT, *BASELINES, *SEEDS)
