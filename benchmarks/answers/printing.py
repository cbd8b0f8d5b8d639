"""The figures of an evaluation of answers as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.answers.figures import interval

Figures = dict[str, Any]


def as_text(figures: Figures) -> str:
    """One collection's figures, a paragraph each: contexts, quotes, refusals, modes."""
    return "\n".join(_lines(figures)) + "\n"


def _lines(figures: Figures) -> Iterator[str]:
    counts = figures["questions"]
    yield (
        f"{figures['collection']}: {counts['answerable']} questions with an answer, "
        f"{counts['unanswerable']} without, {counts['foreign']} of other collections"
    )
    yield from _context(figures["context_recall"])
    yield f"Choosing the pieces: {_times(figures['extract_ms'])}"
    for name, refusal in figures["refusal"].items():
        if refusal:
            yield from _refusal(name, refusal)
    for mode, values in figures["modes"].items():
        yield from _mode(mode, values)


COLUMNS = (
    "", "n", "at a glance", "contained", "refused", "wrong *Answers*", "without", "*Answer*",
    "foreign", "ms",
)  # fmt: skip


def as_table(runs: Sequence[Figures]) -> str:
    """A row for each half of each collection, as Markdown: what readers see of instant answers."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|" + "---:|" * (len(COLUMNS) - 1)]
    for run in runs:
        for half, seen in run["modes"]["instant"]["halves"].items():
            if seen["questions"]:
                name = f"{run['collection']}, {half.removeprefix('set ')}"
                lines.append(f"| {name} | {' | '.join(_seen(run, seen))} |")
    return "\n".join(lines)


def _seen(run: Figures, seen: Figures) -> Iterator[str]:
    yield str(seen["questions"])
    yield _with_interval(seen["at_a_glance"], seen["questions"])
    for name in ("contained", "refused"):
        yield _short(seen[name])
    yield f"{seen['wrong']} of {seen['called']}"
    yield str(seen["without"])
    yield _with_interval(seen["without_called_an_answer"], seen["without"])
    foreign = seen["foreign_called_an_answer"]
    yield "" if foreign is None else _short(foreign)
    yield f"{run['extract_ms']['p50']:.0f}"


def _with_interval(share: float | None, count: int) -> str:
    if share is None:
        return ""
    low, high = interval(share, count)
    return f"{_short(share)} ({_short(low)}-{_short(high)})"


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


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
                f"{name.replace('_', ' ')} {value}"
                for name, value in shares.items()
                if name != "wrongly_called"
            )
            yield from (
                f"    wrongly called an answer: {each}" for each in shares["wrongly_called"]
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
