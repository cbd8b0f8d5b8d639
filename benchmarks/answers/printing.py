"""The figures of an evaluation of answers as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.answers.figures import interval

Figures = dict[str, Any]


def as_text(found: Figures) -> str:
    """One collection's figures, a paragraph each: contexts, quotes, refusals, modes."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Figures) -> Iterator[str]:
    asked = found["questions"]
    yield (
        f"{found['collection']}: {asked['answerable']} questions with an answer, "
        f"{asked['unanswerable']} without, {asked['foreign']} of other collections"
    )
    yield from _context(found["context_recall"])
    yield f"Choosing the pieces: {_times(found['extract_ms'])}"
    for name, refusal in found["refusal"].items():
        if refusal:
            yield from _refusal(name, refusal)
    for mode, values in found["modes"].items():
        yield from _mode(mode, values)


COLUMNS = (
    "", "n", "at a glance", "contained", "refused", "*Answer*", "wrong", "without", "*Answer*",
    "foreign", "*Answer*", "p50 ms",
)  # fmt: skip


def as_table(runs: Sequence[Figures]) -> str:
    """A row for each half of each collection, as Markdown: what readers see of instant answers."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|" + "---:|" * (len(COLUMNS) - 1)]
    for run in runs:
        for half, seen in run["modes"]["instant"]["halves"].items():
            if seen["questions"]:
                lines.append(f"| {run['collection']}, {half} | {' | '.join(_seen(run, seen))} |")
    return "\n".join(lines)


def _seen(run: Figures, seen: Figures) -> Iterator[str]:
    yield str(seen["questions"])
    yield _with_interval(seen["at_a_glance"], seen["questions"])
    for name in ("contained", "refused", "called_an_answer"):
        yield f"{seen[name]:.3f}"
    yield f"{seen['wrong']} of {seen['called']}"
    for name in ("without", "foreign"):
        yield str(seen[name])
        called = seen[f"{name}_called_an_answer"]
        yield "" if called is None else _with_interval(called, seen[name])
    yield f"{run['extract_ms']['p50']:.0f}"


def _with_interval(share: float, count: int) -> str:
    low, high = interval(share, count)
    return f"{share:.3f} ({low:.2f} to {high:.2f})"


def _context(recall: Figures) -> Iterator[str]:
    yield f"Context recall (mean {recall['mean_tokens']} tokens)"
    for row in recall["by_shape"]:
        shape = f"{row['tokens']} tokens, {row['passages']} passages"
        yield f"  {shape:<34}{_share(row['recall'])}"
    yield f"  {'first hits, as many tokens':<34}{_share(recall['naive'])}"


def _refusal(name: str, refusal: Figures) -> Iterator[str]:
    yield (
        f"Refusal, questions {_WITHOUT[name]}: AUROC {_share(refusal['auroc'])} "
        f"(retrieval alone {_share(refusal['auroc_of_retrieval'])}), area under risk-coverage "
        f"{_share(refusal['area_under_risk'])}"
    )
    curve = refusal["risk_by_coverage"]
    yield "  coverage  " + "".join(f"{coverage:>8}" for coverage in curve)
    yield "  risk      " + "".join(f"{_share(risk):>8}" for risk in curve.values())
    for row in refusal["thresholds"]:
        yield (
            f"  below {row['below']:<4} refused: {_share(row['rightly_refused'])} of those without "
            f"an answer, {_share(row['wrongly_refused'])} of those with one"
        )


_WITHOUT = {"unanswerable": "without an answer", "foreign": "of other collections"}


def _mode(mode: str, values: Figures) -> Iterator[str]:
    yield f"Mode {mode} ({_times(values['latency_ms'])})"
    for half, shares in values["halves"].items():
        if shares["questions"] or shares["without"]:
            yield f"  {half}: " + ", ".join(
                f"{name.replace('_', ' ')} {value}" for name, value in shares.items()
            )
    for title, name in (
        ("answers contained", "contained"),
        ("answers contained, of those answered", "contained_of_answered"),
        ("refused, without an answer", "rightly_refused"),
        ("refused, of other collections", "foreign_refused"),
        ("refused, with an answer", "wrongly_refused"),
        ("answers with sources (S5-25)", "with_sources"),
        ("valid citations (S5-44)", "valid_citations"),
        ("supported sentences", "supported"),
    ):
        yield f"  {title:<38}{_share(values[name])}"
    yield (
        f"  {values['citations']} citations, {values['sentences']} sentences an answer, "
        f"{values['failed']} failed"
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _times(milliseconds: Figures) -> str:
    if not milliseconds:
        return "not timed"
    return f"p50 {milliseconds['p50']:.0f} ms, p95 {milliseconds['p95']:.0f} ms"
