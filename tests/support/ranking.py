"""Handwritten candidates, ranked by the kernel: fixtures for tests of rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ingestion.models.visibility import Viewer
from search.domain import (
    ABSENT,
    GENERATORS,
    HALF,
    SIGNALS,
    Candidate,
    Candidates,
    Hit,
    Profile,
    Query,
    QueryClass,
    Signal,
    Weights,
    row_type,
)
from search.engine import Request
from search.engine.configuration import Configuration
from search.engine.find import CandidateBudget, candidates_of
from search.engine.ranking import hits_of
from search.engine.read import Question, read_query
from search.ranking import Batch, Prepared, prepare, score_batch
from search.ranking.cosine_scale import MINILM, CosineScale

EVERY_SIGNAL = frozenset(Signal)
# Its identifiers, if candidates hold any, come before every score.
SOME_QUERY = Query("made", asks_for_identifiers=True)


def columns(
    candidates: Sequence[Candidate],
    query: Query = SOME_QUERY,
    *,
    boosts: Sequence[str] = (),
    places: Sequence[Mapping[str, int]] = (),
    languages: Sequence[str] = (),
    **fields: Any,
) -> Candidates:
    """The candidates as a search retrieves them; `boosts` are the patterns that are counted.

    `languages` are the candidates' documents', "" for unknown. `places` make the set a wide one:
    each candidate's place by candidate generator.
    """
    order = sorted(range(len(candidates)), key=lambda i: candidates[i].chunk_id)
    ordered = [candidates[i] for i in order]
    matches = [each.identifier for each in ordered]
    forms = tuple(dict.fromkeys(match.form for match in matches if match))
    names = tuple(dict.fromkeys([*boosts, *(name for each in ordered for name in each.boosts)]))
    rows = np.zeros(len(ordered), row_type(len(names)))
    for row, each, match in zip(rows, ordered, matches, strict=True):
        row["chunk"], row["document"] = each.chunk_id, each.document_id
        row["signature"], row["signed"] = each.signature or 0, each.signature is not None
        row["embedded"] = each.embedding is not None
        row["pin"] = ABSENT if each.pin is None else each.pin
        row["form"] = ABSENT if match is None else forms.index(match.form)
        row["held_at"], row["strength"] = (match.place, match.strength) if match else (0, 0.0)
        row["raw"] = [each.raw.get(signal, np.nan) for signal in SIGNALS]
        row["counts"] = [each.boosts.get(name, 0) for name in names]
    codes = tuple(dict.fromkeys(filter(None, languages)))
    rows["language"] = [
        codes.index(languages[i]) if languages and languages[i] else ABSENT for i in order
    ]
    if places:
        rows["places"] = [[places[i].get(name, 0) for name in GENERATORS] for i in order]
    return Candidates(
        query,
        rows,
        _stacked([each.embedding for each in ordered]),
        names,
        forms,
        languages=codes,
        is_wide=bool(places),
        **{"by_meaning": True} | fields,
    )


def _stacked(embeddings: Sequence[bytes | None]) -> Any:
    """Embeddings as the database sends them (big-endian) as rows; None is skipped."""
    present = [np.frombuffer(each, ">f2") for each in embeddings if each is not None]
    return np.stack(present).astype(HALF) if present else np.zeros((0, 1), HALF)


def made(**knobs: Any) -> Profile:
    """A profile with these settings, whose weights do not matter."""
    return Profile("made", 1, {}, **knobs)


def prepared(
    candidates: Candidates | Sequence[Candidate],
    profile: Profile | None = None,
    scale: CosineScale = MINILM,
) -> Prepared:
    """The candidates with their strengths under the profile's settings, for every signal."""
    table = candidates if isinstance(candidates, Candidates) else columns(candidates)
    return prepare(table, profile or made(), EVERY_SIGNAL, cosine_scale=scale)


def rank(
    candidates: Candidates | Sequence[Candidate],
    weights: Weights,
    profile: Profile | None = None,
    query_class: QueryClass = QueryClass.GENERAL,
    scale: CosineScale = MINILM,
) -> tuple[Hit, ...]:
    """The candidates as hits, best first."""
    profile = profile or made()
    batch = Batch.of([prepared(candidates, profile, scale)])
    return hits_of(score_batch(batch, [weights], [query_class], profile))


def objects(candidates: Candidates) -> list[Candidate]:
    """The candidates as objects, by chunk id."""
    return [candidates.candidate(row) for row in range(len(candidates))]


def wide_candidates(
    text: str, configuration: Configuration, profile: Profile, *, viewer: Viewer
) -> Candidates:
    """The candidate set of a pool, in all documents that the viewer may read."""
    question = Question(read_query(text, configuration), Request(viewer), configuration)
    return candidates_of(question, CandidateBudget.everything(profile))
