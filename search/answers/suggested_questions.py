"""What to ask next: sections beside an answer that a search finds at that moment.

One query for those around what was cited first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest

from ingestion.chunking.sections import paths
from ingestion.domain import SectionPlace
from ingestion.models import Chunk
from ingestion.models.collections import Viewer
from search.answers.content_words import content
from search.answers.domain import Answered, Passage, State
from search.answers.earlier_questions import follows_up
from search.answers.request import AnswerRequest
from search.engine import Purpose
from search.errors import SearchError
from search.pipeline import search

# --- what to ask next ---

MOST = 3
TRIED = 4  # searches for one answer; a guess: most sections are found by their names
FIRST = 3  # a section is found if it is among so many first results; a guess
REACH = 8  # chunks on each side of a passage, as for a context
LONGEST = 80  # characters of a button

NamedSection = tuple[str, frozenset[int]]
"""The text to search for, and the ids of the chunks of the section that it names."""


def suggested_questions(answered: Answered, request: AnswerRequest) -> tuple[str, ...]:
    """At most MOST texts to search for next; none after an answer that cites nothing.

    Each names a section after or before that of the first citation, or that of a passage which was
    read and not cited. The reader's own search for it, with the filters of the question, is
    confident and has the section among its first results.
    """
    if answered.state is not State.DONE or not answered.cited:
        return ()
    sections = islice(_offers(answered, request.viewer), TRIED)
    return tuple(islice((each[0] for each in sections if _is_findable(each, request)), MOST))


def _offers(answered: Answered, viewer: Viewer) -> Iterator[NamedSection]:
    """Sections that neither the question nor the answer names, each once.

    In turn one around the first citation and one of the best passages without a citation.
    """
    passages = {each.number: each for each in answered.context.passages}
    cited = [passages.pop(number) for number in answered.cited if number in passages]
    unused = sorted(passages.values(), key=lambda passage: passage.rank)
    others = [_section_of(each, each.heading_path, each.chunk_ids) for each in unused]
    names = [name for each in cited for name in (each.title, *each.heading_path[-1:])]
    known = set(content(" ".join((answered.searched_for, *names))))
    for section in chain.from_iterable(zip_longest(_around(cited[0], viewer), others)):
        if section is not None and len(section[0]) <= LONGEST:
            stems = content(section[0])
            if not known.issuperset(stems):
                known.update(stems)
                yield section


def _around(passage: Passage, viewer: Viewer) -> list[NamedSection]:
    """The two sections after that of a passage, and the one before it. One query."""
    first, last = passage.ordinal, passage.ordinal + len(passage.chunk_ids) - 1
    rows = Chunk.objects.visible_to(viewer).filter(
        version=passage.version, ordinal__gte=max(0, first - REACH), ordinal__lte=last + REACH
    )
    columns = rows.order_by("ordinal").values_list("pk", "heading_path", "sections")
    chunks: dict[tuple[str, ...], list[int]] = {}
    for number, above, places in columns:
        headings = [*paths(above, [SectionPlace(*place) for place in places])] or [tuple(above)]
        for path in headings:
            chunks.setdefault(path, []).append(number)
    order = list(chunks)
    at = order.index(passage.heading_path) if passage.heading_path in chunks else 0
    near = [*order[at + 1 : at + 3], *order[max(0, at - 1) : at]]
    return [_section_of(passage, path, chunks[path]) for path in near]


def _section_of(passage: Passage, path: Sequence[str], chunks: Sequence[int]) -> NamedSection:
    """The name of a section with its document's title, as "Basics" alone says too little.

    The section comes first: sections of one document differ in it, and buttons may be cut off.
    """
    heading, title = [passage.title, *path][-1], passage.title
    return heading if heading == title else f"{heading} ({title})", frozenset(chunks)


def _is_findable(section: NamedSection, request: AnswerRequest) -> bool:
    try:
        response = search(
            section[0],
            viewer=request.viewer,
            filters=request.filters,
            choices=request.choices,
            page_size=0,
            purpose=Purpose.TUNER,  # no metric counts it, and its spelling is the library's
        )
    except SearchError:
        return False
    first = {hit.chunk_id for hit in response.hits[:FIRST]}
    is_sure = not response.low_confidence and not follows_up(response.query)
    return is_sure and not section[1].isdisjoint(first)
