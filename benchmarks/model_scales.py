"""`default` with other embedding models: on the scale of each, and with its cosines as they are.

    python -m benchmarks.model_scales [--collection NAME ...] [--model MODEL ...]

Parts of judged collections (of RELEVANCE_DIR) are libraries in memory, ranked by the code that
ranks searches, without titles (ADR 130). MODEL is named as for `benchmarks.confidence`, which keeps
the vectors. Printed for each model: its map, and the mean nDCG@10 over the collections of keywords,
vectors, rank fusion, `default` with the cosines as they are and on the common scale, and the
difference of the last to rank fusion, with the interval of a bootstrap over the questions.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.confidence import ASIDE, FITTED, MODELS, Model, embedders
from benchmarks.libraries import Library, Question, candidates, read
from benchmarks.temporary_site import site

if TYPE_CHECKING:
    from search.domain import Profile
    from search.ranking.cosine_scale import CosineScale
    from search.tuning.evaluation.measures import Interval

DISCOUNTS = 1 / np.log2(np.arange(2, 12))


def ndcg(order: Sequence[int], relevant: frozenset[int]) -> float:
    """nDCG@10 of passages in order, all relevant ones alike."""
    gained = sum(d for d, each in zip(DISCOUNTS, order, strict=False) if each in relevant)
    return float(gained / DISCOUNTS[: len(relevant)].sum())


def values(model: Model, library: Library, profile: Profile, scale: CosineScale) -> Any:
    """The nDCG@10 of each question of a library under the profile."""
    passages = model.vectors(library.name, library.texts, query=False)
    asked = model.vectors(library.name, [each.text for each in library.questions], query=True)
    return np.array(
        [
            ndcg(_ranked(library, question, passages, vector, profile, scale), question.relevant)
            for question, vector in zip(library.questions, asked, strict=True)
        ]
    )


def _ranked(
    library: Library,
    question: Question,
    passages: Any,
    vector: Any,
    profile: Profile,
    scale: CosineScale,
) -> list[int]:
    from ingestion.models import EmbeddingSpace
    from search.domain import Classification, QueryClass, Signal
    from search.engine.configuration import Configuration
    from search.engine.ranking import ranking_of
    from search.engine.settle import Settled

    pool = candidates(library, question, passages @ vector, profile.depth, passages)
    settled = Settled(
        pool.query,
        profile,
        Classification(QueryClass.GENERAL, "", 1.0),
        profile.weights[QueryClass.GENERAL],
        frozenset({Signal.VECTOR, Signal.KEYWORD}),
    )
    configuration = Configuration(0, None, {}, space=EmbeddingSpace(), cosine_scale=scale)
    ranking = ranking_of(pool, settled, configuration, group=False)
    return [hit.chunk_id for hit in ranking.hits]


def row(model: Model, libraries: Sequence[Library]) -> str:
    """A model's row of the table."""
    from search.engine.similarity_background import PROBES, scale_of
    from search.presets.default import BASELINES, DEFAULT
    from search.ranking.cosine_scale import MINILM
    from search.tuning.evaluation.measures import interval

    own = scale_of(
        model.vectors("probes", PROBES, query=True), model.vectors("probes", PROBES, query=False)
    )
    tried = [(each.profile, MINILM) for each in (*BASELINES, DEFAULT)] + [(DEFAULT.profile, own)]
    every = [[values(model, one, profile, scale) for one in libraries] for profile, scale in tried]
    means = " | ".join(f"{np.mean([each.mean() for each in of]):.4f}" for of in every)
    *_, fusion, _, now = every
    changes = [interval(ours - theirs) for ours, theirs in zip(now, fusion, strict=True)]
    return f"| {model.name} | {own.slope:.2f}, {own.offset:.2f} | {means} | {_mean(changes)} |"


def _mean(changes: Sequence[Interval]) -> str:
    """The mean over the collections, whose questions are independent, and its interval."""
    mean = sum(each.mean for each in changes) / len(changes)
    half = math.hypot(*((each.high - each.low) / 2 for each in changes)) / len(changes)
    return f"{mean:+.4f} ({mean - half:+.4f} to {mean + half:+.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", nargs="+", default=(*FITTED, *ASIDE))
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--passages", type=int, default=400, help="of each collection")
    parser.add_argument("--questions", type=int, default=100, help="of each collection")
    options = parser.parse_args()
    with site("model-scales"):
        from benchmarks.judged.collections import find
        from benchmarks.judged.loading import relevance_folder

        judged = [find(name, relevance_folder()) for name in options.collection]
        libraries = [read(each, options.passages, options.questions) for each in judged]
        print(
            "| | map | keywords | vectors | rank fusion | as they are | now | now - rank fusion |"
        )
        print("|---|---|---|---|---|---|---|---|")
        with embedders(options.model) as models:
            for model in models:
                print(row(model, libraries), flush=True)


if __name__ == "__main__":
    main()
