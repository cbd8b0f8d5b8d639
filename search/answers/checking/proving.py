"""The figures, identifiers, names and quoted words of a claim that its sources lack. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from search.answers.checking.claims import CitedPassage, Claim, Cover, Line
from search.answers.checking.figures import Figure, comparable, same
from search.answers.checking.words import Identifier, Name, alike, bare, quoted_in, same_name, stem
from search.answers.checking.words import words as content_words

Piece = TypeVar("Piece", Figure, Identifier, Name)

# A line bears on a claim if it has this share of the claim's words, and is nearer than another if
# that has less than NEARER of its share.
NEAR, NEARER = 0.5, 0.6
AROUND = 3  # the fewest words around a piece of a claim
# The pieces of each kind that are checked of a claim, each against all lines of its sources: a
# sentence of more is a table or a dump. A guess.
MOST_PIECES = 40
# The numbers are chosen on the labelled sentences of tests/support/claims (docs/answers.md).


def unproven(claim: Claim, sources: Sequence[CitedPassage], covered: Cover) -> Iterator[str]:
    """The claim's quoted words, figures, identifiers and names that no source has, or that the
    line nearest to the claim has otherwise.
    """
    kinds = (claim.quotations, claim.figures, claim.identifiers, claim.names)
    if max(map(len, kinds)) > MOST_PIECES:
        yield f"It has more than {MOST_PIECES} figures, names or quotations: too many to check."
        return
    for words in claim.quotations:
        if not any(quoted_in(words, source.plain) for source in sources):
            yield f"The quoted words “{words}” are not in a cited passage."
    for figure in claim.figures:
        if problem := _figure_problem(figure, claim, sources, covered):
            yield problem
    for identifier in claim.identifiers:
        if problem := _identifier_problem(identifier, claim, sources, covered):
            yield problem
    for name in claim.names:
        if problem := _name_problem(name, claim, sources, covered):
            yield problem


def _lacking(text: str) -> str:
    return f"No cited passage says “{text}”."


def _elsewhere(given: str, claimed: str) -> str:
    return f"The cited passage says “{given}” of this, not “{claimed}”."


def _figure_problem(
    figure: Figure, claim: Claim, sources: Sequence[CitedPassage], covered: Cover
) -> str:
    def has(source: CitedPassage, line: Line) -> bool:
        return any(same(figure, given, source.units) for given in line.figures)

    if any(has(source, source.head) for source in sources):
        return ""
    if not any(has(source, line) for source in sources for line in source.lines):
        return "" if _date_in_parts(figure, sources) else _lacking(figure.text)

    def rivals(source: CitedPassage, line: Line) -> Iterator[Figure]:
        for given in line.figures:
            taken = any(same(own, given, source.units) for own in claim.figures)
            taken = taken or any(i.start <= given.start < i.end for i in line.identifiers)
            if given.is_sure and comparable(figure, given, source.units) and not taken:
                yield given

    if rival := _rival(has, rivals, _nearby(figure, claim, covered)):
        return _elsewhere(rival.text, figure.text)
    return _counts_other_things(figure, covered)


def _date_in_parts(figure: Figure, sources: Sequence[CitedPassage]) -> bool:
    """True for a whole date of which a source has day and month, and elsewhere the year."""
    dates = [each for each in figure.readings if isinstance(each, tuple)]
    for year, month, day in dates:
        if year is None or month is None:
            continue
        part = replace(figure, readings=frozenset({(None, month, day)}))
        for source in sources:
            given = [each for line in (source.head, *source.lines) for each in line.figures]
            years = {str(year) in each.text for each in given}
            undated = [each for each in given if each.kind == "date" and not _has_year(each)]
            if True in years and any(same(part, each) for each in undated):
                return True
    return False


def _has_year(figure: Figure) -> bool:
    return any(isinstance(each, tuple) and each[0] is not None for each in figure.readings)


def _counts_other_things(figure: Figure, covered: Cover) -> str:
    """The problem of a number that counts one thing in the claim and another in every source that
    has it, while the source gives the claim's thing another number.
    """
    if not figure.following or figure.kind != "number" or figure.unit is not None:
        return ""
    counted = stem(figure.following)
    lines = [(share, source, line) for share, source, line in covered.lines]
    own = [
        (share, line) for share, source, line in lines
        if any(same(figure, given, source.units) for given in line.figures)
    ]  # fmt: skip
    for _, line in own:
        if any(alike(counted, each) for each in line.stems) and not _rivals(figure, counted, line):
            return ""
    nearest = max((share for share, _ in own), default=0.0)
    for share, _, line in lines:
        if share >= nearest and (rivals := _rivals(figure, counted, line)):
            given = f"{rivals[0].text} {rivals[0].following}"
            return _elsewhere(given, f"{figure.text} {figure.following}")
    return ""


def _rivals(figure: Figure, counted: str, line: Line) -> list[Figure]:
    """The line's other numbers of the things that the figure counts; none if it has that, too."""
    given = [
        each for each in line.figures
        if each.is_sure and each.following and alike(stem(each.following), counted)
    ]  # fmt: skip
    return [] if any(same(figure, each) for each in given) else given


def _identifier_problem(
    identifier: Identifier, claim: Claim, sources: Sequence[CitedPassage], covered: Cover
) -> str:
    def has(source: CitedPassage, line: Line) -> bool:
        return any(identifier.canonical in given.forms for given in line.identifiers)

    if any(has(source, source.head) for source in sources) and not covered.best >= NEAR:
        return ""
    literal = any(quoted_in(identifier.text, source.plain) for source in sources)
    if not any(has(s, line) for s in sources for line in (s.head, *s.lines)):
        return "" if literal else _lacking(identifier.text)
    own = {each.canonical for each in claim.identifiers}

    def rivals(source: CitedPassage, line: Line) -> Iterator[Identifier]:
        for given in line.identifiers:
            if not own & given.forms and _shape(given.canonical) == _shape(identifier.canonical):
                yield given

    rival = _rival(has, rivals, _nearby(identifier, claim, covered))
    return _elsewhere(rival.text, identifier.text) if rival else ""


def _shape(canonical: str) -> str:
    """The kinds of an identifier's characters: `a0` for d40."""
    kinds = ["0" if each.isdigit() else "a" if each.isalpha() else each for each in canonical]
    return "".join(kind for place, kind in enumerate(kinds) if kinds[place - 1 : place] != [kind])


def _name_problem(name: Name, claim: Claim, sources: Sequence[CitedPassage], covered: Cover) -> str:
    unknown = [
        part for part in name.parts
        if not any(same_name(part, word) for source in sources for word in source.words)
    ]  # fmt: skip
    if unknown and not _abbreviates(name, sources):
        return f"No cited passage names “{name.text}”."

    def has(source: CitedPassage, line: Line) -> bool:
        return all(any(same_name(part, word) for word in line.words) for part in name.parts)

    if unknown:
        return ""
    everywhere = [(source, line) for source in sources for line in (source.head, *source.lines)]
    if len(name.parts) > 1 and not any(has(source, line) for source, line in everywhere):
        titled = any(
            same_name(part, word)
            for source in sources for word in source.head.words for part in name.parts
        )  # fmt: skip
        if not titled:
            return f"No cited passage names “{name.text}”."
    if other := _other_forename(name, sources):
        return _elsewhere(other, name.text)
    own = [part for each in claim.names for part in each.parts]

    def rivals(source: CitedPassage, line: Line) -> Iterator[Name]:
        for given in line.names:
            named = any(same_name(part, each) for part in given.parts for each in own)
            if not named and not any(stem(part) in claim.stems for part in given.parts):
                yield given

    rival = _rival(has, rivals, _nearby(name, claim, covered))
    return _elsewhere(rival.text, name.text) if rival else ""


def _other_forename(name: Name, sources: Sequence[CitedPassage]) -> str:
    """A name of the sources that shares only its last or only its first word with this one, where
    none has both words next to each other.
    """
    if len(name.parts) != 2:
        return ""
    mixed = ""
    for source in sources:
        for line in (source.head, *source.lines):
            for given in line.names:
                shared = [any(same_name(part, each) for each in given.parts) for part in name.parts]
                if all(shared):
                    return ""
                if len(given.parts) == 2 and any(shared):
                    mixed = given.text
    return mixed


def _abbreviates(name: Name, sources: Sequence[CitedPassage]) -> bool:
    """True for WHO where a source has World Health Organization, and the other way round."""
    initials = "".join(part[0] for part in name.parts)
    for source in sources:
        for line in (source.head, *source.lines):
            for given in line.names:
                theirs = "".join(part[0] for part in given.parts)
                if len(name.parts) == 1 and len(name.parts[0]) > 1 and theirs == name.parts[0]:
                    return True
                if len(name.parts) > 2 and given.text == initials.upper():
                    return True
    return False


def _nearby(piece: Piece, claim: Claim, covered: Cover) -> list[tuple[float, CitedPassage, Line]]:
    """The sources' lines with the shares that they have of the words around a piece of the claim,
    without its own; best first.
    """
    own: set[str] = set()
    if not isinstance(piece, Figure):  # its unit tells where it belongs
        own = {stem(part) for word in content_words(piece.text) for part in (word, bare(word))}
    around: list[frozenset[str]] = [stems for text, stems in claim.clauses if piece.text in text]
    worth: dict[str, float] = {}
    for stems in (*around, frozenset(claim.stems)):
        worth = {each: covered.worth.get(each, 0.0) for each in stems if each not in own}
        if len(worth) >= AROUND:
            break
    total = sum(worth.values()) or 1.0
    shares = [
        (sum(w for each, w in worth.items() if _has_stem(line, each)) / total, source, line)
        for _, source, line in covered.lines
    ]
    return sorted(shares, key=lambda each: -each[0])


def _has_stem(line: Line, stem_: str) -> bool:
    return stem_ in line.stems or any(alike(stem_, each) for each in line.stems)


def _rival(
    has: Callable[[CitedPassage, Line], bool],
    rivals: Callable[[CitedPassage, Line], Iterable[Piece]],
    nearby: Sequence[tuple[float, CitedPassage, Line]],
) -> Piece | None:
    """What the nearest line says in the place of a piece of the claim, if only lines much further
    from the claim have the piece itself.
    """
    if not nearby or nearby[0][0] < NEAR:
        return None
    own = max((share for share, source, line in nearby if has(source, line)), default=0.0)
    if own >= NEARER * nearby[0][0]:
        return None
    return next(iter(rivals(*nearby[0][1:])), None)
