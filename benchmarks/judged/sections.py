"""Judged collections without a corpus of their own: judgements name sections of a site's documents.

    queries.jsonl   {"_id": ..., "text": ...}; a query without a relevant section has no answer
    qrels.tsv       query id, section, grade 0 to 3

A section is `SOURCE#HEADING > HEADING`: the source of its document, and the headings above it
without the document's title. `SOURCE` is the whole document, `SOURCE#` its part before the first
heading. Passages find their section by their own headings, whatever their size; of nested judged
sections the innermost counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.judged.collections import JudgedCollection
from ingestion.chunking.sections import paths
from ingestion.domain import SectionPlace
from ingestion.models import Chunk
from search.engine.ranking import Ranking
from search.tuning.evaluation.beir import QRELS, QUERIES, EvaluationError, qrels_of, rows

BETWEEN = " > "

Say = Callable[[str], None]
Headings = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionCollection(JudgedCollection):
    """Judged sections of documents. `qrels` name sections; `load` makes the documents searchable.

    `load` gets a function that writes lines and a number of processes; it returns the collections
    to search, and the beginnings of sources that judgements name in another way than the site:
    `{"manual/": "manual-5.2/"}`.
    """

    load: Callable[[Say, int], tuple[Sequence[str], Mapping[str, str]]]
    without_answer: Mapping[str, str] = field(default_factory=dict)


def read_sections(
    folder: Path, load: Callable[[Say, int], tuple[Sequence[str], Mapping[str, str]]], name: str
) -> SectionCollection:
    """The judged sections in `folder`. Raises EvaluationError at a line that cannot be read."""
    qrels = qrels_of(folder / QRELS)
    texts = {str(row["_id"]): str(row["text"]) for row in rows(folder / QUERIES)}
    answered = {query: text for query, text in texts.items() if any(qrels.get(query, {}).values())}
    rest = {query: text for query, text in texts.items() if query not in answered}
    return SectionCollection(name, folder, answered, qrels, load, rest)


def source_of(name: str) -> str:
    """The source of a section's document."""
    return name.partition("#")[0]


@dataclass(frozen=True, slots=True)
class SectionCorpus:
    """The judged sections with their passages.

    `own` has the section of each passage, `judged` the judged section of each passage by query.
    `missing` are the sections without a passage: the documents have changed since the judgements.
    """

    slugs: Sequence[str]
    qrels: Mapping[str, Mapping[str, int]]
    own: Mapping[int, str]
    judged: Mapping[str, Mapping[int, str]]
    missing: tuple[str, ...]

    def ranked(self, query: str, ranking: Ranking) -> list[str]:
        judged, own = self.judged.get(query, {}), self.own
        names = (judged.get(hit.chunk_id) or own.get(hit.chunk_id, "") for hit in ranking.hits)
        return list(dict.fromkeys(names))


def resolve(
    judged: SectionCollection, slugs: Sequence[str], aliases: Mapping[str, str]
) -> SectionCorpus:
    """Find the passages of the judged sections. One query.

    A query whose relevant sections are all missing is not in `qrels`. Raises EvaluationError if
    that is so for all of them.
    """
    by_source = _passages(slugs)
    names = {name for grades in judged.qrels.values() for name in grades}
    chunks = {name: _find(name, by_source, aliases) for name in names}
    qrels = {
        query: {name: grade for name, grade in grades.items() if chunks[name]}
        for query, grades in judged.qrels.items()
    }
    qrels = {query: grades for query, grades in qrels.items() if any(grades.values())}
    if not qrels:
        raise EvaluationError(
            f"None of the sections that {judged.folder} names is in {', '.join(slugs)}."
        )
    return SectionCorpus(
        slugs,
        qrels,
        {
            each.pk: f"{source}#{BETWEEN.join(each.path)}"
            for source, passages in by_source.items()
            for each in passages
        },
        {query: _innermost(grades, chunks) for query, grades in qrels.items()},
        tuple(sorted(name for name in names if not chunks[name])),
    )


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage: the headings above it and of each section that it holds, without the title.

    `text` is None if the passage knows its sections; those made before sections were stored do not.
    """

    pk: int
    path: Headings
    sections: tuple[Headings, ...]
    text: str | None


def _passages(slugs: Sequence[str]) -> dict[str, list[_Passage]]:
    """The searchable passages of the collections, by the source of their document."""
    rows = Chunk.objects.filter(searchable=True, collection__slug__in=slugs)
    fields = ("pk", "heading_path", "sections", "text", "document__source", "document__title")
    passages: dict[str, list[_Passage]] = defaultdict(list)
    for pk, path, places, text, source, title in rows.values_list(*fields).order_by("pk"):
        above, *inner = (
            tuple(each[1:] if each[:1] == (title,) else each)
            for each in (tuple(path), *paths(path, [SectionPlace(*each) for each in places]))
        )
        passages[source].append(_Passage(pk, above, tuple(inner), None if places else text))
    return passages


def _find(
    name: str, by_source: Mapping[str, list[_Passage]], aliases: Mapping[str, str]
) -> frozenset[int]:
    """The passages of a section; empty if there is none.

    A section too small for a passage of its own is part of one under the headings that it shares
    with its neighbours. In a passage that does not know its sections, its heading is a line.
    """
    source, hash_sign, rest = name.partition("#")
    headings = tuple(rest.split(BETWEEN)) if rest else ()
    for alias, actual in aliases.items():
        if source.startswith(alias):
            source = actual + source.removeprefix(alias)
    passages = by_source.get(source, [])
    if not headings:
        return frozenset(each.pk for each in passages if not (hash_sign and each.path))
    return frozenset(
        each.pk
        for each in passages
        if any(path[: len(headings)] == headings for path in (each.path, *each.sections))
        or (
            each.text is not None
            and headings[: len(each.path)] == each.path
            and headings[-1] in each.text.splitlines()
        )
    )


def _innermost(grades: Mapping[str, int], chunks: Mapping[str, AbstractSet[int]]) -> dict[int, str]:
    """The judged section of each passage; of equally deep ones, the one with the highest grade."""
    of_passage: dict[int, str] = {}
    for name in sorted(grades, key=lambda each: (_depth(each), grades[each], each)):
        of_passage.update(dict.fromkeys(chunks[name], name))
    return of_passage


def _depth(name: str) -> int:
    """The depth of a section: 0 for a whole document, 1 for the part before its first heading."""
    _, hash_sign, headings = name.partition("#")
    return len(hash_sign) + (len(headings.split(BETWEEN)) if headings else 0)
