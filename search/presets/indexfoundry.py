"""IndexFoundry (S1): a fixed mix, and what its decision record weighs against it.

Depth: the seed takes twice (as shipped, three times) the results asked for (S1-31, F1-01); ours
does not depend on them, and is that for a page of 10.
"""

from __future__ import annotations

from dataclasses import replace

from search.domain import Boost, Classifier, Fusion, KeywordScorer, Normaliser, Profile, Weights
from search.presets.preset import Preset, always, scales
from search.query.classifiers.anchors import CODES

# One expression, so that a code in quotes counts once. What stands in quotes: an even number of
# quotes must follow the one that closes it.
ANCHORS = "|".join((*CODES, r'(?<=")[^"]+(?="(?:[^"]*"[^"]*")*[^"]*$)'))

_FIXED = Profile(
    name="indexfoundry",
    version=1,
    weights=always(Weights(0.7, 0.3, 0)),  # S1-12, S1-36
    classifier=Classifier.NONE,
    bypass=r"^[A-Z]\d+$",  # S1-28
    normalisers=scales(keyword=Normaliser.NONE),
    own_candidates_only=True,  # S1-34
    depth=20,
    keyword_scorer=KeywordScorer.OVERLAP,  # S1-43
)
_VARIANT = replace(_FIXED, bypass="")

INDEXFOUNDRY = (
    Preset(
        _FIXED,
        "IndexFoundry's fixed mix: 70% cosine, 30% share of the words; a bare code goes to the "
        "keywords alone.",
    ),
    Preset(
        replace(
            _VARIANT,
            name="indexfoundry:adaptive",
            classifier=Classifier.SPECIFICITY,
            weights=always(  # S1-19, S1-20, S1-21
                Weights(0.7, 0.3, 0), lookup=Weights(0.3, 0.7, 0), general=Weights(0.5, 0.5, 0)
            ),
        ),
        "IndexFoundry's option B: the more codes among the words, the more the keywords weigh.",
    ),
    Preset(
        replace(
            _VARIANT,
            name="indexfoundry:anchor",
            boosts=(Boost("anchor", 1.5, anchor=ANCHORS),),  # S1-24
        ),
        "IndexFoundry's option C: its fixed mix, times 1.5 for each code that a passage holds.",
    ),
    Preset(
        replace(
            _VARIANT,
            name="indexfoundry:rrf",
            weights=always(Weights(0.5, 0.5, 0)),  # S1-37
            fusion=Fusion.RRF,
        ),
        "What IndexFoundry replaced: ranks by cosine and by words, fused half and half.",
    ),
    Preset(
        replace(
            _VARIANT,
            name="indexfoundry:shipped",
            classifier=Classifier.ANCHORS,
            # Where a caller names the class; otherwise the classifier weighs each query itself.
            weights=always(Weights(0.5, 0.5, 0), lookup=Weights(0.3, 0.7, 0)),
            normalisers=scales(vector=Normaliser.COSINE, keyword=Normaliser.NONE),
            boosts=(  # F1-01: .15, or .4 before a mark
                Boost("anchor", 0.15, multiply=False, anchor=ANCHORS),
                Boost(
                    "anchor as a label",
                    0.25,
                    multiply=False,
                    anchor=ANCHORS,
                    pattern=r"{anchor}[.:)]",
                ),
            ),
            depth=30,
        ),
        "IndexFoundry as shipped: each question weighed by its codes and its length, and a term "
        "for each code that a passage holds.",
    ),
)
