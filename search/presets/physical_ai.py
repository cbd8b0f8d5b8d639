"""The Physical AI chatbot (S5): a weighted sum under the weights of the question's class.

Its record calls the keyword signal "BM25 (ts_rank)" and says that it lies in 0-1, which neither
does (F5-02). Ours is BM25 over its maximum: that does.
"""

from __future__ import annotations

from search.domain import Classifier, Normaliser, Profile, Weights
from search.presets.preset import Preset, always, scales

PHYSICAL_AI = (
    Preset(
        Profile(
            name="physical-ai",
            version=1,
            weights=always(
                Weights(0.7, 0.3, 0),  # S5-06, and S5-10: comparison has none of its own
                concept=Weights(0.8, 0.2, 0),  # S5-08
                code=Weights(0.5, 0.5, 0),  # S5-07
                debug=Weights(0.6, 0.4, 0),  # S5-09
            ),
            classifier=Classifier.PHYSICAL_AI,
            normalisers=scales(vector=Normaliser.MAX),
            own_candidates_only=True,
            depth=50,  # S5-04, S5-05
        ),
        "The Physical AI chatbot's weighted sum: cosine and BM25, each over its maximum, under the "
        "weights of the question's class.",
    ),
)
