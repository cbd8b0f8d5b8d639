"""How likely it is that the first piece answers a question."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import permutations

from ingestion.lexical.languages import primary_code
from ingestion.lexical.second_forms import folded
from search.answers.checking.figure_parsing import figures
from search.answers.checking.names import bare, names, same_name
from search.answers.checking.numerals import cardinals, ordinals
from search.answers.content_words import STOP, words
from search.answers.domain import Context, Statement
from search.answers.question_forms import NUMBER, sides_of
from search.answers.quote_pieces import Quote
from search.answers.quote_scoring import IDENTIFIER, Offer, QuestionWords, question_weights
from search.presentation.records import YEAR, RecordLookup, numbered_names

# The most for a piece without the identifier that was asked for: below SURE. A guess.
NO_RECORD = 0.5
# The weights of a logistic regression for "the first piece answers", fitted on the manuals of
# Celery and FastAPI with near-misses, and on half of squad20_dev, its paragraphs joined to
# articles, with foreign questions (benchmarks/notes/answers.md).
CONFIDENCE, MARGIN, SAID, OTHER_NUMBER, ABSENT, CONSTANT = 2.12, 1.63, 2.04, -0.88, -2.09, -3.38
# Of a question for a number with none in the paragraph or row of the best sentence. Fitted on the
# same sets, on whole pieces.
NO_NUMBER = -2.4
# Of a section whose own heading the question says in full, with no name that the context lacks.
# Fitted on both manuals, beside the others (benchmarks/results/answers.md).
HEADING = 0.6
WIDEST = 6.0  # margins beyond it say no more; a guess
# The mean of the fit's questions stands for a confidence that is unknown.
USUAL_CONFIDENCE = 0.68

LEGAL_FORMS = frozenset(["corporation", "corp", "inc", "ltd", "llc", "plc", "company", "co", "ag"])
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_COUNT = re.compile(r"\b(?:how many|wie viele)\b\s*(\w*(?:\s\w+)?)", re.IGNORECASE)
_WORD = re.compile(r"\s+(\w+)")


def answerability(
    question: str,
    ranked: Sequence[tuple[Offer, float]],
    quote: Quote,
    context: Context,
    retrieval: float | None,
    lookup: RecordLookup,
) -> float:
    """The probability, in (0, 1), that the piece around the best sentence answers.

    The confidence of the `retrieval`, the margin over the best sentence of another passage and the
    share of the question's content words that the piece says with its headings raise it, and so
    does a heading that the question says in full. A number that the passage lacks lowers it, and so
    does a name or an identifier that the context lacks, and no number in its sentence's paragraph
    or row where one is asked for. It is at most NO_RECORD for a piece of another record than the
    one that is asked for.

    A retrieval that is less confident than usual counts as a usual one where another document says
    the same with another figure, which is no rival, and where the question only names the record.
    """
    best = ranked[0][0]
    rivals = _without_other_sides(ranked, best, context)
    sure = USUAL_CONFIDENCE if retrieval is None else retrieval
    if len(rivals) < len(ranked) or (lookup.is_bare and best.held):
        sure = max(sure, USUAL_CONFIDENCE)
    own = QuestionWords(question_weights(question, ()))
    parts = [best.passage.text[part.start : part.end] for part in quote.parts]
    said = " ".join([best.passage.title, *best.path, *parts])
    is_absent = _is_of_neighbour(question, said, lookup) or _lacks_a_name(question, context)
    logit = (
        CONFIDENCE * sure
        + MARGIN * _margin(rivals, lookup)
        + SAID * own.share(own.lexemes_in(said))
        + OTHER_NUMBER * any(each not in best.passage.text for each in _NUMBER.findall(question))
        + (ABSENT if is_absent else HEADING * _says_heading(own, best))
        + NO_NUMBER * (bool(NUMBER.search(question)) and not gives_number(question, best.line))
        + CONSTANT
    )
    probability = 1 / (1 + math.exp(-logit))
    return min(probability, NO_RECORD) if _is_another_record(best, lookup) else probability


def gives_number(question: str, sentence: str) -> bool:
    """Whether a question asks for a number, and a sentence has one: if it asks how many, no day,
    and no measure unless it asks for one (“how many minutes”).
    """
    if count := _COUNT.search(question):
        is_measure = any(each.unit for each in figures(f"2 {count[1]}"))
        for each in reversed([*figures(sentence)]):
            is_other = each.unit and not is_measure and each.unit.dimension != "share"
            if each.dates or is_other:
                sentence = sentence[: each.start] + sentence[each.end :]
    return NUMBER.search(question) is not None and _has_number(sentence)


def _says_heading(question: QuestionWords, best: Offer) -> bool:
    """Whether the question says each word of the heading of a sentence's section."""
    heading = "".join(best.path[-1:])
    own = set(words(heading)) - STOP
    return heading != best.passage.title and bool(own) and all(map(question.lexemes_in, own))


def _lacks_a_name(question: str, context: Context) -> bool:
    """Whether the context lacks an identifier of the question, or the last word of a name."""
    is_german = any(primary_code(each.language) == "de" for each in context.passages)
    own = () if is_german else tuple(names(question))  # there capitals are no sign of a name
    identifiers = IDENTIFIER.findall(question)
    if not (own or identifiers):  # as most: the context need not be read
        return False
    texts = ["\n".join((each.title, *each.heading_path, each.text)) for each in context.passages]
    folded_text = folded("\n".join(texts))
    if any(folded(name) not in folded_text for name in identifiers):
        return True
    known = {bare(word) for word in set(words(folded_text))}
    # The last word of each: “new” is no New York, but Acme is Acme Corporation.
    parts = ([part for part in each.parts if part not in LEGAL_FORMS] or each.parts for each in own)
    return not all(any(same_name(folded(each[-1]), word) for word in known) for each in parts)


def _is_of_neighbour(question: str, piece: str, lookup: RecordLookup) -> bool:
    """Whether a piece says a numbered name of the question with other numbers alone: of hall B,
    where hall A is asked for, of the second quarter in place of the third. Of a comparison each
    piece says one of two names.
    """
    if sides_of(question):
        return False
    said = [*numbered_names(piece), *_ordered_names(piece)]
    for word, code in (*lookup.numbered, *_ordered_names(question)):
        codes = {other for name, other in said if name == word}
        if not codes or word in STOP or YEAR.fullmatch(code):
            continue
        # As one of several, without the word before it: Python 3.12 and 3.13.
        listed = rf"\b{re.escape(word)}\w?\s[^:§()\n]{{,40}}(?<![\w.]){re.escape(code)}(?!\.?\w)"
        is_listed = code[-1].isdigit() and re.search(listed, piece, re.IGNORECASE)
        if code not in codes and not is_listed:
            return True
    return False


def _ordered_names(text: str) -> list[tuple[str, str]]:
    """The names of an ordinal and a word in a text: ("quarter", "third")."""
    places = ((each.text.casefold(), _WORD.match(text, each.end)) for each in ordinals(text))
    return [(match[1].casefold(), number) for number, match in places if match]


def _has_number(text: str) -> bool:
    return bool(_NUMBER.search(text)) or any(each.is_sure for each in cardinals(text))


def _is_another_record(best: Offer, lookup: RecordLookup) -> bool:
    """Whether the sentence is not of the record that the question names."""
    is_unheld = lookup.is_bare and not best.held
    return is_unheld or lookup.is_neighbour(best.path)


def _margin(ranked: Sequence[tuple[Offer, float]], lookup: RecordLookup) -> float:
    """The margin over the best sentence of another passage, as a share of WIDEST; 0 without one.

    Of a bare lookup over what holds the identifier as well; the widest if no other passage does.
    """
    best, score = ranked[0]
    others = [pair for pair in ranked if pair[0].passage.number != best.passage.number]
    rivals = [points for each, points in others if not lookup.is_bare or each.held >= best.held]
    if best.held and not rivals and lookup.is_bare:
        return 1.0
    return min(score - max(rivals, default=score), WIDEST) / WIDEST


def _without_other_sides(
    ranked: Sequence[tuple[Offer, float]], best: Offer, context: Context
) -> list[tuple[Offer, float]]:
    """A ranking without what other documents say of the same thing with another figure than the
    best sentence: no rivals of it.
    """
    pairs = [pair for each in context.conflicts for pair in permutations(each.sides)]
    others = [other for own, other in pairs if _is_in(best, own)]
    return [pair for pair in ranked if not any(_is_in(pair[0], other) for other in others)]


def _is_in(offer: Offer, side: Statement) -> bool:
    """Whether a sentence is, in part or as a whole, a side of a conflict."""
    part = offer.parts[offer.at]
    is_same = offer.passage.number == side.passage.number
    return is_same and part.start < side.end and side.start < part.end
