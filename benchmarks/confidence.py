"""The fit of confidence, and how it holds for models, collections and questions not seen.

    python -m benchmarks.confidence [--collection NAME ...] [--aside NAME ...] [--model MODEL ...]

Each judged collection (of RELEVANCE_DIR) is a library, ranked in memory by the kernel that ranks
searches: by `default`, without titles. MODEL is named as in EMBEDDER, or the folder of one, or
either after `server:`, which a scripted server of OpenAI's protocol serves under another scale;
it takes no prefixes. Printed:
the fit to half of the questions of all models and collections; then the other half, and the
collections set aside, by fits that have not seen the model. Vectors are kept in var/bench.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.libraries import Library, Question, candidates, read
from benchmarks.reliability import QuestionKind, Sample, auroc, fit, is_held_out
from benchmarks.temporary_site import ROOT, site

if TYPE_CHECKING:
    from ingestion.embedding import Embedder
    from search.ranking.confidence import Background

FITTED = (
    "squad20_dev", "cranfield", "wikiqa_test", "scifact", "med", "checkthat2020_claims",
    "dbpedia_entity_50",
)  # fmt: skip
ASIDE = ("nfcorpus", "mtrag_cloud", "xquad_en")
MODELS = ("local", "fastembed:BAAI/bge-small-en-v1.5", "server:local")
SERVER = "server:"
THRESHOLD = 0.2  # of `default`
# A further coordinate of every vector of a scripted server: cosines lie between .8 and 1.
OFFSET = 2.0
# Collections about the same things lend each other no questions.
ALIKE = (
    {"squad20_dev", "xquad_en", "wikiqa_test", "dbpedia_entity_50"},
    {"med", "scifact", "nfcorpus"},
)
MODELS_DIR = ROOT / "var" / "models"
CACHE = ROOT / "var" / "bench" / "confidence-vectors"


@dataclass(frozen=True, eq=False)
class Model:
    """An embedding model under a name, with its cached vectors."""

    name: str
    embedder: Embedder

    def vectors(self, library: str, texts: Sequence[str], *, query: bool) -> Any:
        """Unit vectors of questions or passages, a row each; cached in files."""
        digest = hashlib.sha256("\0".join((*texts, str(query))).encode()).hexdigest()[:16]
        path = CACHE / f"{self.name.replace('/', '-').replace(':', '-')}-{library}-{digest}.npy"
        if not path.exists():
            embed = self.embedder.embed_query
            made = [embed(t) for t in texts] if query else self.embedder.embed_documents(texts)
            CACHE.mkdir(parents=True, exist_ok=True)
            np.save(path, np.array(made, np.float16))
        vectors = np.load(path).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def samples(model: Model, libraries: Sequence[Library]) -> Iterator[tuple[str, Sample]]:
    """Yield the samples of all questions under a model, with the library's name."""
    from search.engine.similarity_background import PROBES
    from search.ranking.confidence import Background

    probes = model.vectors("probes", PROBES, query=True)
    question_vectors = {
        each.name: model.vectors(each.name, [q.text for q in each.questions], query=True)
        for each in libraries
    }
    for library in libraries:
        passages = model.vectors(library.name, library.texts, query=False)
        background = Background.of((probes @ passages.T).max(axis=1))
        own = list(zip(library.questions, question_vectors[library.name], strict=True))
        others = [
            pair
            for other in libraries
            if other is not library and not any({other.name, library.name} <= a for a in ALIKE)
            for pair in zip(other.questions, question_vectors[other.name], strict=True)
        ]
        kinds = {
            QuestionKind.ANSWERABLE: own,
            QuestionKind.WITHHELD: own,
            QuestionKind.FOREIGN: random.Random(5).sample(others, min(len(own), len(others))),
        }
        for kind, pairs in kinds.items():
            for question, vector in pairs:
                cosines = passages @ vector
                if sample := _sample(library, question, cosines, kind, background):
                    yield library.name, sample


def _sample(
    library: Library, question: Question, cosines: Any, kind: QuestionKind, background: Background
) -> Sample | None:
    """The sample of the ranking of a library's passages; None if it has no evidence."""
    from search.domain import QueryClass, Signal
    from search.engine.adjust_weights import MeaningEvidence
    from search.presets import default as presets
    from search.query.parse import count_words
    from search.ranking import Batch, prepare, score_batch
    from search.ranking.confidence import FIRST_PAGE, Evidence

    profile = presets.DEFAULT.profile
    without = question.relevant if kind is QuestionKind.WITHHELD else frozenset()
    pool = candidates(library, question, cosines, profile.depth, without=without)
    prepared = prepare(pool, profile, frozenset({Signal.VECTOR, Signal.KEYWORD}))
    weights = profile.weights[QueryClass.GENERAL]
    leaning = MeaningEvidence.of(prepared, count_words(question.text))
    moved = weights.keyword * leaning.for_meaning * profile.short_lean
    shifted = replace(weights, vector=weights.vector + moved, keyword=weights.keyword - moved)
    ranked = score_batch(Batch.of([prepared]), [shifted], [QueryClass.GENERAL], profile)
    columns = ranked.columns(0).tolist()
    evidence = Evidence.of(prepared, columns, background)
    if evidence is None:
        return None
    page = set(prepared.candidates.rows["chunk"][prepared.rows[columns[:FIRST_PAGE]]].tolist())
    answered = kind is QuestionKind.ANSWERABLE and bool(question.relevant & page)
    return Sample(kind, question.group, answered, evidence)


def report(drawn: Sequence[tuple[str, str, Sample]], fitted: Sequence[str]) -> None:
    """Print the fit to all samples, and for each model the figures of a fit without that model."""
    seen = [(model, s) for model, name, s in drawn if name in fitted and not _aside(s)]
    print("\nFitted to half of the questions, all models:")
    for ran, fit_to_all in fit([s for _, s in seen]).items():
        slopes = ", ".join(f"{name} {slope:.3f}" for name, slope in fit_to_all.slopes.items())
        print(f"  {ran}: {fit_to_all.intercept:.3f}, {slopes}")
    print("\n| left out | questions of | own, foreign | AUROC, foreign | withheld | ", end="")
    print(f"own below {THRESHOLD} | of these answered | foreign | withheld |")
    print("|---|---|---|---|---|---|---|---|---|")
    parts: dict[tuple[str, str], list[tuple[Sample, float]]] = defaultdict(list)
    for left_out in dict.fromkeys(model for model, _, _ in drawn):
        others = [s for model, s in seen if _weights(model) != _weights(left_out)]
        models = fit(others or [s for _, s in seen])  # one model alone: only its questions are new
        for model, name, s in drawn:
            if model == left_out and (name not in fitted or _aside(s)):
                part = "the other half" if name in fitted else "collections set aside"
                value = models[s.evidence.ran].probability(s.evidence)
                for row in ((left_out, part), (left_out, name), ("all", part)):
                    parts[row].append((s, value))
    for row, values in sorted(parts.items()):
        print(f"| {' | '.join(row)} | {_figures(values)} |")


def _figures(values: Sequence[tuple[Sample, float]]) -> str:
    own, foreign, withheld = (
        [value for sample, value in values if sample.kind is kind]
        for kind in (QuestionKind.ANSWERABLE, QuestionKind.FOREIGN, QuestionKind.WITHHELD)
    )
    answered = [value for sample, value in values if sample.answered]
    figures = [
        auroc([True] * len(own) + [False] * len(others), own + others)
        for others in (foreign, withheld)
    ]
    figures += [float(np.mean(np.array(v) < THRESHOLD)) for v in (own, answered, foreign, withheld)]
    return " | ".join([f"{len(own)}, {len(foreign)}", *(f"{figure:.3f}" for figure in figures)])


def _weights(model: str) -> str:
    """The model that has the same weights, at any scale."""
    return model.removeprefix(SERVER)


def _aside(sample: Sample) -> bool:
    return is_held_out(sample.group, 0)


@contextmanager
def embedders(names: Sequence[str]) -> Iterator[list[Model]]:
    """The models by name; those after `server:` behind a server of OpenAI's protocol."""
    from ingestion.embedding import build_embedder
    from ingestion.embedding.config import EmbedderConfig, OpenAIConfig
    from ingestion.embedding.openai import OpenAIEmbedder
    from tests.support.fake_openai import FakeOpenAI, Reply, Request, embeddings

    made = []
    with ExitStack() as stack:
        for name in names:
            key = _weights(name)
            kind, _, model = key.partition(":")
            options = {"model": model} if model else {}
            if Path(key).is_dir():
                kind, options = "local", {"folder": key}
            config = EmbedderConfig.of(kind, models_dir=MODELS_DIR, **options)
            embedder: Embedder = build_embedder(config)
            if name != key:

                def scaled(request: Request, local: Embedder = embedder) -> Reply:
                    vectors = local.embed_documents(request.texts)
                    far = np.full((len(vectors), 1), OFFSET, np.float32)
                    return Reply(embeddings(request, list(np.hstack([vectors, far]))), good=True)

                size = embedder.card.dimensions + 1
                server = stack.enter_context(FakeOpenAI(*[scaled] * 100_000, dimensions=size))
                behind = OpenAIConfig(
                    key, server.api_key, server.base_url, known_dimensions=size, timeout=3600.0
                )
                embedder = OpenAIEmbedder(behind)
            made.append(Model(name, embedder))
        yield made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", nargs="+", default=FITTED, help="to fit to")
    parser.add_argument("--aside", nargs="*", default=ASIDE, help="to measure on alone")
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--passages", type=int, default=400, help="of each collection")
    parser.add_argument("--questions", type=int, default=100, help="of each collection")
    options = parser.parse_args()
    with site("confidence"):
        from benchmarks.judged.collections import find
        from benchmarks.judged.loading import relevance_folder

        names = (*options.collection, *options.aside)
        judged = [find(name, relevance_folder()) for name in names]
        libraries = [read(each, options.passages, options.questions) for each in judged]
        with embedders(options.model) as models:
            drawn = [
                (model.name, name, s) for model in models for name, s in samples(model, libraries)
            ]
        report(drawn, options.collection)


if __name__ == "__main__":
    main()
