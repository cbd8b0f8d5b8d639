"""Snippets, and texts with the matched words marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import Any

from django.db.models import TextField
from django.db.models.expressions import RawSQL
from django.utils.safestring import SafeString, mark_safe

from ingestion.lexical import compounds
from ingestion.lexical.bigrams import characters
from ingestion.lexical.compounds import name_parts
from ingestion.lexical.normal_form import normal_form_sql, places
from ingestion.lexical.second_forms import LABEL, acronyms_sql, folded_sql, numbers_sql

# Private-use characters: they survive escaping and occur in no text (parsers remove them).
MARK_START, MARK_END = "\ue000", "\ue001"
SNIPPET_CHARS = 300

# Between blocks without punctuation, such as a heading and its text, or the items of a list.
_BLOCK_BREAK = re.compile(r"\n\s*\n\s*(?=\S)")
_PARTED = frozenset(".!?:;,")
_WORD_START = re.compile(r"(?:^|(?<=\s))\S")
MARKED = re.compile(f"{MARK_START}([^{MARK_END}]*){MARK_END}")
MARKS = re.compile(f"([{MARK_START}{MARK_END}])")
_PARTS = re.compile(f"({MARK_START}[^{MARK_END}]*{MARK_END})")
# Names of code, whose parts the index holds as words of their own.
_IN_NAME = rf"[\w{MARK_START}{MARK_END}]"
# Only those with an underscore: a page has thousands of words without one.
_NAME = re.compile(rf"(?<!{_IN_NAME}){_IN_NAME}*_{_IN_NAME}*")
_JOINTS = re.compile(rf"{MARK_END}(\.|::|->|_){MARK_START}")


# A page asks for thirty, and twice for some. With texts some 3 MB.
@lru_cache(maxsize=1024)
def snippet(marked: str, length: int = SNIPPET_CHARS) -> SafeString:
    """About `length` characters with most of the query's words, as escaped HTML with <mark>.

    `marked` has each matched word between MARK_START and MARK_END. The snippet begins and ends at
    word boundaries, with an ellipsis for omitted text and a dot between joined blocks.
    """
    return highlight(_shown(*_cut(marked, length)))


def shows_a_mark(marked: str, length: int = SNIPPET_CHARS) -> bool:
    """Whether the snippet of the marked text has a mark."""
    if MARK_START not in marked:
        return False
    _, marks, first, last = _cut(marked, length)
    return any(first <= start and end <= last for start, end in marks)


@lru_cache(maxsize=64)  # of the results of a page, before their snippets
def _cut(marked: str, length: int) -> tuple[str, list[tuple[int, int]], int, int]:
    """The text in one line without its marks, the marks' places, and the window to show."""
    flowing = _BLOCK_BREAK.sub(_block_break, marked.strip())
    plain, marks = text_and_marks(" ".join(flowing.split()))
    start, end = _window(plain, marks, length)
    return plain, marks, start, end


def _block_break(match: re.Match[str]) -> str:
    """A dot in place of the break between two blocks, unless punctuation separates them."""
    before = match.string[match.start() - 1]
    return match.group() if before in _PARTED or before.isspace() else " · "


def highlight(marked: str) -> SafeString:
    """The whole marked text as escaped HTML with <mark>, white space preserved."""
    escaped = escape(marked)
    html = escaped.replace(MARK_START, "<mark>").replace(MARK_END, "</mark>")
    # Of what is one word to a reader (HL-210), the marks are one.
    return mark_safe(html.replace("</mark><mark>", ""))  # noqa: S308  # escaped above


def mark_runs(marked: str, words: str) -> str:
    """`marked` with those `words`, a query or a tsquery's text, also marked that occur in runs of
    letters without spaces.
    """
    pairs, singles = _units_to_mark(words)
    if not pairs and not singles:
        return marked
    parts = _PARTS.split(marked)
    parts[::2] = [_with_runs(part, pairs, singles) for part in parts[::2]]
    return "".join(parts)


def mark_compounds(marked: str, compounds: Sequence[str]) -> str:
    """`marked` with compounds and names also marked, each with its hyphens and signs."""
    if not compounds:
        return marked
    # A name may go on with an underscore, after which Postgres reads another word.
    beyond = rf"[^\W_]|[{MARK_START}{MARK_END}]"
    patterns = []
    for compound in dict.fromkeys(compounds):  # a form names each of its places
        edge = f"{beyond}|-" if "-" in compound else beyond
        # Parts may be marked as words of their own: C++, R&D, and -3 of L. 121-3.
        mark = f"[{MARK_START}{MARK_END}]*"
        word = re.sub(r"(\\?[^\w\\])", rf"{mark}\1{mark}", re.escape(compound))
        patterns.append(rf"(?<!{edge}){MARK_START}?{word}{MARK_END}?(?!{edge})")
    return re.sub(
        "|".join(patterns),
        lambda match: MARK_START + unmarked(match.group()) + MARK_END,
        marked,
    )


def mark_names(marked: str) -> str:
    """`marked` with whole names of code marked: `select_related`, `settings.DEBUG`.

    A name with marks in fewer than half of its parts is not marked, unless the text has no other
    mark.
    """
    if MARK_START not in marked:
        return marked
    if "_" not in marked:
        return _JOINTS.sub(r"\1", marked)
    marked_names = _NAME.sub(lambda match: _whole_name(match.group(), 0.5), marked)
    if MARK_START in marked and MARK_START not in marked_names:
        marked_names = _NAME.sub(lambda match: _whole_name(match.group(), 0), marked)
    return _JOINTS.sub(r"\1", marked_names)


def _whole_name(name: str, least: float) -> str:
    """The name with one mark, if at least that share of its parts have one; otherwise without."""
    parts = [part for part in name.split("_") if part]
    # The mark of a whole sentence opens in one of its words and closes in another.
    if len(parts) < 2 or name.count(MARK_START) != name.count(MARK_END):
        return name
    share = sum(MARK_START in part for part in parts) / len(parts)
    plain = unmarked(name)
    return f"{MARK_START}{plain}{MARK_END}" if share and share >= least else plain


def mark_spans(marked: str, spans: Iterable[tuple[int, int]], *, alone: bool = False) -> str:
    """The text with these [start, end) of its plain form marked, in place of marks within them.

    With `alone` nothing else is marked.
    """
    text, marks = text_and_marks(marked)
    exactly = list(_apart(spans))
    rest = [each for each in marks if not (alone or any(_overlap(each, one) for one in exactly))]
    return with_marks(text, sorted([*exactly, *rest]))


def with_marks(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with each [start, end) marked; they are in order and do not overlap."""
    pieces, last = [], 0
    for start, end in spans:
        pieces += [text[last:start], MARK_START, text[start:end], MARK_END]
        last = end
    return "".join([*pieces, text[last:]])


def _apart(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans in order, without those that overlap one before them."""
    last = 0
    for start, end in sorted(spans):
        if start >= last and end > start:
            yield start, end
            last = end


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def restored(marked: str, text: str) -> str:
    """`text` with the marks of `marked`, its normal form."""
    if unmarked(marked) == text:
        return marked
    plain, marks = text_and_marks(marked)
    starts, ends = places(text)
    if len(starts) != len(plain):
        return marked  # Postgres knows another version of Unicode
    return with_marks(text, _apart((starts[start], ends[end - 1]) for start, end in marks))


@lru_cache(maxsize=64)  # a page asks for each of its thirty passages
def _units_to_mark(words: str) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """The pairs of adjacent letters to mark, and the letters that are in no pair."""
    runs = characters(words)
    pairs = frozenset((a, b) for (_, end, a), (start, _, b) in pairwise(runs) if end == start)
    paired = {unit for pair in pairs for unit in pair}
    return pairs, frozenset(unit for *_, unit in runs) - paired


def _with_runs(text: str, pairs: Set[tuple[str, str]], singles: Set[str]) -> str:
    runs = characters(text)
    marked = {place for place, (*_, unit) in enumerate(runs) if unit in singles}
    for place, ((_, end, a), (start, _, b)) in enumerate(pairwise(runs)):
        if end == start and (a, b) in pairs:
            marked |= {place, place + 1}
    spans: list[tuple[int, int]] = []
    for start, end, _ in (runs[place] for place in sorted(marked)):
        begun = spans.pop()[0] if spans and spans[-1][1] == start else start
        spans.append((begun, end))
    return with_marks(text, spans)


def text_and_marks(marked: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and the marks' [start, end) offsets in it."""
    marks: list[tuple[int, int]] = []
    for count, match in enumerate(MARKED.finditer(marked)):
        start, end = match.span(1)
        marks.append((start - 2 * count - 1, end - 2 * count - 1))
    return unmarked(marked), marks


def unmarked(marked: str) -> str:
    """The text without its marks."""
    return marked.replace(MARK_START, "").replace(MARK_END, "")


def _window(plain: str, marks: list[tuple[int, int]], length: int) -> tuple[int, int]:
    """The [start, end) of the window with the most distinct words, the earliest of equals."""
    if len(plain) <= length:
        return 0, len(plain)
    lead = length // 5
    best = _fullest([0, *(max(0, start - lead) for start, _ in marks)], plain, marks, length)
    best = min(best, len(plain) - length)
    first = _WORD_START.search(plain, best)
    start = first.start() if first and first.start() < best + lead else best
    if start + length >= len(plain):
        return start, len(plain)
    # Some scripts do not separate words by spaces: the nearest space may be far away.
    end = plain.rfind(" ", start + length - lead, start + length)
    return start, end if end > start else start + length


@lru_cache(maxsize=1024)  # a page marks a few words, each many times
def _parts(word: str) -> tuple[str, ...]:
    return tuple(name_parts(word))


def _fullest(
    starts: Sequence[int], plain: str, marks: Sequence[tuple[int, int]], length: int
) -> int:
    """The one of the ascending `starts` whose window entirely holds the marks of the most distinct
    words: of equals the first, or that which shows what follows the rarest mark, as in a table.
    """
    words = [_parts(plain[start:end]) for start, end in marks]
    within: dict[str, int] = {}  # how many marks have each word
    first = last = distinct = 0
    held: list[int] = []
    for start in starts:
        while last < len(marks) and marks[last][1] <= start + length:
            for word in words[last]:
                times = within.get(word, 0)
                within[word] = times + 1
                distinct += not times
            last += 1
        while first < last and marks[first][0] < start:
            for word in words[first]:
                within[word] -= 1
                distinct -= not within[word]
            first += 1
        held.append(distinct)
    most = max(held)
    best = held.index(most)
    times_of = Counter(words)
    rarity = [(times_of[each], -len(each)) for each in words]
    rarest = rarity.index(min(rarity)) if rarity else 0
    is_at_the_end = marks and marks[rarest][1] > starts[best] + length - length // 5
    return starts[rarest + 1 if is_at_the_end and held[rarest + 1] == most else best]


def _shown(plain: str, marks: list[tuple[int, int]], start: int, end: int) -> str:
    """The window of a text with its marks, and an ellipsis for what is left out."""
    spans = ((a - start, b - start) for a, b in marks if a >= start and b <= end)
    shown = with_marks(plain[start:end], spans)
    return f"{'… ' if start else ''}{shown}{' …' if end < len(plain) else ''}"


_OPTIONS = f"HighlightAll=true, StartSel={MARK_START}, StopSel={MARK_END}"
_TEXT_FOLLOWS = "\ue002"  # private use: like MARK_START it never occurs in a text
# A compound's joined reading is no word of the text, so that ts_headline does not mark it, and the
# parts of a name are none. A name is marked if the question has half of its parts, else those that
# it has. To look for a kind of these takes as long as the headline: it is done only where a lexeme
# of the question stands as such a form, or in more places than have a mark.
_MARKED_TEXT = f"""
(SELECT headline || '{_TEXT_FOLLOWS}' || ingestion_chunk.text
|| '{_TEXT_FOLLOWS}' || concat_ws(E'\\n', CASE WHEN 2 * said > length(headline) - length(t) THEN (
    SELECT string_agg(CASE WHEN share < .5 THEN said ELSE name END, E'\\n')
    FROM {{names}} named, LATERAL (
        SELECT avg(is_said::int) AS share, string_agg(word, E'\\n') FILTER (WHERE is_said) AS said
        FROM regexp_split_to_table(parts, ' ') word, LATERAL (
            SELECT part, part @@ query AS is_said
            FROM to_tsvector(ingestion_chunk.text_config::regconfig, word) part
        ) held WHERE part <> ''::tsvector
    ) shares WHERE said IS NOT NULL
) END, CASE WHEN is_folded THEN (
    SELECT string_agg(written, E'\\n') FROM {{folds}} folds
    WHERE to_tsvector(ingestion_chunk.text_config::regconfig, folded) @@ query
) END, CASE WHEN is_behind THEN (
    SELECT string_agg(DISTINCT written, E'\\n') FROM (
        SELECT compound, to_tsvector(ingestion_chunk.text_config::regconfig, joined)
        FROM {{compounds}} parted UNION ALL
        SELECT written, to_tsvector(ingestion_chunk.text_config::regconfig, joined)
        FROM {{numbers}} numbers UNION ALL
        SELECT acronym, array_to_tsvector(ARRAY[acronym]) FROM {{acronyms}} acronyms
    ) behind(written, form) WHERE form @@ query
) END) FROM (SELECT {{text}} AS t, {{question}} AS query OFFSET 0) normal, LATERAL (
    SELECT ts_headline(ingestion_chunk.text_config::regconfig, t, query, %s) AS headline,
           regexp_split_to_array(trim(query::text, ''''), ''' [^'']+ ''') AS lexemes OFFSET 0
) shown, LATERAL (
    SELECT count(DISTINCT place) FILTER (WHERE {compounds.IN_TEXT}) AS said,
           bool_or(label = '{LABEL}') AS is_folded,
           bool_or(place = {compounds.LAST_POSITION}) AS is_behind
    FROM unnest(ingestion_chunk.lexemes) held, unnest(positions, weights) at(place, label)
    WHERE lexeme = ANY(shown.lexemes)
) places)
"""


def unmarked_sql(text: str) -> str:
    """SQL for the value of `marked` of a text without a match; `text` is its SQL."""
    return f"{text} || '{_TEXT_FOLLOWS}' || {text} || '{_TEXT_FOLLOWS}'"


class _MarkedText(TextField):  # type: ignore[type-arg]  # Django's takes none
    """A marked text, completed.

    Postgres ignores runs of letters and the joined readings of compounds, and marks the normal
    form of a text.
    """

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words

    def from_db_value(self, value: str, *_: Any) -> str:
        return completed(value, self.words)


def completed(value: str, words: str) -> str:
    """The marked text, of the value of `marked` in the database."""
    headline, text, compounds = value.split(_TEXT_FOLLOWS)
    marked = mark_compounds(headline, compounds.splitlines())
    return mark_names(mark_runs(restored(marked, text), words))


def marked(question: str, *params: str) -> RawSQL:
    """The whole text, each match between MARK_START and MARK_END, for `snippet` or `highlight`.

    `question` is trusted SQL for a tsquery over `ingestion_chunk`; `params` are its values.
    """
    sql = _MARKED_TEXT.format(
        text=normal_form_sql("ingestion_chunk.text"),
        question=question,
        compounds=compounds.joined_sql("t"),
        names=compounds.names_sql("t"),
        folds=folded_sql("t"),
        numbers=numbers_sql("t"),
        acronyms=acronyms_sql("t", "ingestion_chunk.text_config::regconfig"),
    )
    return RawSQL(sql, (*params, _OPTIONS), output_field=_MarkedText(" ".join(params)))
