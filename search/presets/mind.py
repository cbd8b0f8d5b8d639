"""KB Labs Mind (S4): ranks fused under the weights of the question's class."""

from __future__ import annotations

from search.domain import Classifier, Fusion, Profile, Weights
from search.presets.preset import Preset, always, scales

MIND = (
    Preset(
        Profile(
            name="mind",
            version=1,
            weights=always(
                Weights(0.6, 0.4, 0),  # S4-10
                lookup=Weights(0.3, 0.7, 0),  # S4-06
                concept=Weights(0.8, 0.2, 0),  # S4-07
                code=Weights(0.6, 0.4, 0),  # S4-08
                debug=Weights(0.5, 0.5, 0),  # S4-09
                comparison=Weights(0.8, 0.2, 0),  # D8: a concept to its classifier
            ),
            classifier=Classifier.MIND,
            fusion=Fusion.RRF,
            normalisers=scales(),
            both_factor=1.2,
            both_first=True,
            own_candidates_only=True,
            depth=20,  # twice the limit, for a page of 10
        ),
        "Mind's ranks by cosine and by BM25, fused under the weights of the question's class; "
        "what both found comes first.",
    ),
)
