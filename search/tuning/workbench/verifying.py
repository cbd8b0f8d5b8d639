"""Check a live run against the what-if of its profile: equal figures, or the reason why not."""

from __future__ import annotations

from dataclasses import dataclass

from search.tuning.evaluation.golden import fingerprint, golden_set, set_hash
from search.tuning.models import EvaluationRun
from search.tuning.workbench.pools import Coverage, pooled

AGREES = 1e-6  # what docs/adr/0025-pools-and-what-if.md promises


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether both measure the same, in words. `largest` is a measure's greatest difference.

    Without `largest` they could not be compared, and `said` is the reason.
    """

    said: str
    largest: float | None = None

    @property
    def agrees(self) -> bool:
        return self.largest is not None and self.largest <= AGREES


def verified(run: EvaluationRun) -> Verified:
    """Compare a finished run of the golden set with the what-if of its profile, both as of now."""
    profile, goldens = run.profile.as_profile(), golden_set()
    if fingerprint(profile) != run.fingerprint:
        return Verified(f"{run.profile} was saved anew since: verify it again to compare.")
    if set_hash(goldens) != run.corpus_hash:
        return Verified("The judgements changed since: verify again to compare.")
    held = pooled(profile, goldens)
    if not held.coverage.is_complete:
        return Verified(_left_out(held.coverage))
    measured = [place for place, golden in enumerate(held.goldens) if golden.is_measured]
    means = held.whatif.under(profile).means(measured)
    if not means:
        return Verified("")
    largest = max(abs(mean - run.measures[name]) for name, mean in means.items())
    if largest <= AGREES:
        return Verified("The figures without a search are the same.", largest)
    return Verified(
        f"The figures without a search differ by up to {largest:.2g}. A search was answered from "
        "another state of the library, or recency has moved on since the candidates were found: "
        "find the candidates again.",
        largest,
    )


def _left_out(coverage: Coverage) -> str:
    if coverage.pooled < coverage.queries:
        left = coverage.queries - coverage.pooled
        queries = "1 golden query" if left == 1 else f"{left} golden queries"
        return f"The candidates kept leave out {queries}: find them again to compare."
    return "The library changed since the candidates were found: find them again to compare."
