"""What a pattern takes from others, loses to them, and finds in plain prose: worth a warning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingestion.identifiers.finding import find_identifiers
from ingestion.identifiers.patterns import Pattern

# Sentences as any document has them: dates, figures, abbreviations, names, and no codes.
PROSE = (
    "On 14 March 2023 the committee met at 10:30 in room four, and about 25% of the 1,200 members "
    "came. Dr. Lee, who chairs it, said that prices had risen from $3.50 to $4.10 since 2021, e.g. "
    "for flour. The U.S. office opens Monday-Friday; see pages 12-15, or write to the front desk. "
    "Nobody knew why the low-cost, long-term plan was dropped. Der Urlaub wird mindestens vier "
    "Wochen vorher schriftlich beantragt. Le train part à 8 h 45 du quai numéro 3."
)


def overlaps(pattern: Pattern, earlier: Sequence[Pattern], later: Sequence[Pattern]) -> list[str]:
    """What may surprise of the pattern, in sentences; empty where nothing does.

    `earlier` are tried before it, and win; `later` after it.
    """
    return [
        *_lost(pattern, earlier),
        *_taken(pattern, later),
        *_in_prose(pattern),
    ]


def _lost(pattern: Pattern, earlier: Sequence[Pattern]) -> Iterator[str]:
    for example in pattern.examples:
        kinds = {one.kind for one in find_identifiers(example, [*earlier, pattern])}
        if others := sorted(kinds - {pattern.name}):
            yield (
                f"“{example}” is recognised by “{', '.join(others)}” first, which is tried "
                "earlier. Give this pattern a lower position to come before it."
            )


def _taken(pattern: Pattern, later: Sequence[Pattern]) -> Iterator[str]:
    for other in later:
        for example in other.examples:
            if any(one.kind == pattern.name for one in find_identifiers(example, [pattern])):
                yield f"It takes “{example}” from “{other.name}”, which is tried after it."
                break


def _in_prose(pattern: Pattern) -> Iterator[str]:
    found = dict.fromkeys(one.text for one in find_identifiers(PROSE, [pattern]))
    if found:
        named = ", ".join(f"“{text}”" for text in list(found)[:3])
        yield (
            f"It recognises {named} in ordinary prose, so that questions with such words look "
            "for codes. Make the expression narrower."
        )
