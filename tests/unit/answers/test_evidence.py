"""How well an answer is borne out, for programs: strong, weak or none."""

from __future__ import annotations

import pytest

from search.answers.domain import SURE, Answered, Mode, Sentence, State, Verdict
from search.domain import EvidenceLevel


@pytest.mark.parametrize(
    ("state", "confidence", "verdicts", "evidence"),
    [
        (State.DONE, SURE, [Verdict.SUPPORTED, Verdict.UNCHECKED], EvidenceLevel.STRONG),
        (State.DONE, SURE - 0.01, [Verdict.SUPPORTED], EvidenceLevel.WEAK),
        (State.DONE, None, [Verdict.SUPPORTED], EvidenceLevel.WEAK),
        (State.DONE, 1.0, [Verdict.SUPPORTED, Verdict.UNSUPPORTED], EvidenceLevel.WEAK),
        (State.DONE, 1.0, [Verdict.UNVERIFIED], EvidenceLevel.WEAK),
        (State.REFUSED, 1.0, [], EvidenceLevel.NONE),
        (State.FAILED, 1.0, [Verdict.SUPPORTED], EvidenceLevel.NONE),
    ],
)
def test_evidence_of_an_answer(
    state: State, confidence: float | None, verdicts: list[Verdict], evidence: EvidenceLevel
) -> None:
    sentences = tuple(Sentence(0, 1, "x", verdict=each) for each in verdicts)
    answer = Answered(
        "x", "q", "q", Mode.AUTO, Mode.AUTO, state, sentences=sentences, confidence=confidence
    )
    assert answer.evidence is evidence
