"""The words of a question: its lexemes with their frequencies and weights.

The weight of a lexeme is idf * times * (k3 + 1) / (times + k3), where it occurs `times` in the
query, and the idf is ln(1 + (N - df + .5) / (df + .5)) (Robertson & Zaragoza 2009, ADR 1). N and df
are those of the collections that the viewer may read, so that scores reveal nothing about the
others.

The query is read under each text configuration of the searched chunks (`retrieval.word_lookup`). A
word's N counts the chunks of the configurations that read it; stop words of the query's language,
and of the language of most chunks, are dropped from every reading; only the heaviest terms are
looked up (ADR 1).

A compound is also read as one word, "half-life" as "halflife", which chunks with the compound hold
as well: it finds both spellings, and the compound's own lexeme need not be looked up. Parts of a
name are terms of BM25, too, without an idf of their own (ADR 44).
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, NamedTuple

from ingestion.lexical.second_forms import FOLDED
from ingestion.lexical.written_dates import MONTHS
from search.domain import K3, Reading
from search.query.language import own_config

# The most terms of a query that are looked up, those with the greatest weights (ADR 1).
MAX_TERMS = 64
# The occurrences that a part of a name in the question counts. .2 to .5 do equally well (ADR 44).
PART = 0.33
# What an occurrence counts by its kind, and the place of the first one: the parts of the text's
# names, its numbers without separators, its words without accents and its acronyms stand as if said
# behind its last word.
_KINDS = {
    "word": (1.0, 0),
    "part": (PART, 10_000),
    "number": (1.0, 20_000),
    "fold": (FOLDED, 30_000),
    "acronym": (1.0, 40_000),
}
# The dimensions of a vector of terms, as of `Chunk.terms`.
_DIMENSIONS = 1_000_000_000


class TextToken(NamedTuple):
    """A lexeme of a text, numbered from 1, under a text configuration, with its positions.

    Without positions it is the joined form of a compound, whose own lexeme is in place of the kind.
    """

    text: int
    kind: str
    config: str
    lexeme: str
    positions: Sequence[int] | None


class Term(NamedTuple):
    """A lexeme that is looked up, in `chunks` chunks; `id` is its number in vectors of terms.

    `times` is the number of its occurrences in the query, under the configuration with the most;
    `idf` is 0 for a part of a name. `chunks_before` is the sum of the chunks of all rarer terms.
    `seeks`: chunks with this term alone may be candidates: parts of known names seek together.
    """

    id: int
    lexeme: str
    chunks: int
    times: float
    idf: float
    weight: float
    seeks: bool = True
    chunks_before: int = 0

    @property
    def quoted(self) -> str:
        """The lexeme as a tsquery reads it: it is looked up verbatim, never parsed again."""
        return "'" + self.lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


@dataclass(frozen=True)
class Terms:
    """The terms of texts that are looked up, rarest first.

    `left_out` is the number of those with the least weight, which are not; `words` that of the
    words that are looked up or in no chunk; `lexemes` are all of the texts. `factors` are further
    weights by lexeme.
    """

    items: tuple[Term, ...] = ()
    left_out: int = 0
    words: int = 0
    lexemes: frozenset[str] = frozenset()
    factors: Mapping[str, float] = field(default_factory=dict)

    def weights(self) -> dict[int, float]:
        """The weight of each term by its id, ascending."""
        weights: dict[int, float] = {}
        for term in sorted(self.items):
            weight = term.weight * self.factors.get(term.lexeme, 1)
            weights[term.id] = max(weight, weights.get(term.id, 0.0))
        return weights

    def any_of(self, holds: Callable[[Term], bool]) -> str | None:
        """The tsquery for chunks with one of the terms for which `holds`; None without one."""
        return " | ".join(term.quoted for term in self.items if holds(term)) or None


def vector(weights: Mapping[int, float]) -> str | None:
    """The weights as a `sparsevec`, which BM25 multiplies with the terms of chunks; None without a
    term.
    """
    listed = ",".join(f"{key}:{weight!r}" for key, weight in weights.items())
    return f"{{{listed}}}/{_DIMENSIONS}" if weights else None


# The common table of the terms.
TABLE = """
term AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(terms)s::json) AS given(
        lexeme text, quoted tsquery, chunks bigint, chunks_before bigint, idf float8, weight float8,
        seeks boolean)
)
""".strip()


def bm25(chunk: str, words: str = "question") -> str:
    """BM25 of the chunk with that alias; `words` names the parameter of the weights."""
    return f"-({chunk}.terms <#> %({words}_weights)s::sparsevec)"


class _Occurrence(NamedTuple):
    """A lexeme at a place of a text; `stays`: it is no stop word."""

    text: int
    place: int
    config: str
    lexeme: str
    share: float
    is_joined: bool
    stays: bool = True


@dataclass(frozen=True)
class AskedWords:
    """The words of a question, as the searched collections hold them.

    `configs` are the text configurations of the searched chunks with the numbers of those,
    `frequencies` each lexeme's number of chunks and its id, `tokens` those of the texts by number:
    the question is the first. `readings` include the configurations of the model's languages;
    `every` is the number of all chunks of the site. `weights` are those of the texts that signals
    add, by table and number; `sought` has the number of each word that a text should hold, with its
    forms as an identifier, of which `tokens[0]` has those that some searched chunk contains.
    """

    configs: Mapping[str, int] = field(default_factory=dict)
    frequencies: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    tokens: Mapping[int, Sequence[TextToken]] = field(default_factory=lambda: defaultdict(list))
    readings: tuple[Reading, ...] = ()
    every: int = 0
    weights: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    sought: Mapping[str, tuple[int, set[str]]] = field(default_factory=dict)

    @cached_property
    def main(self) -> str:
        """The text configuration of most chunks; empty without chunks."""
        return max(self.configs, key=lambda config: (self.configs[config], config), default="")

    @cached_property
    def own(self) -> str:
        """The text configuration of the question's language."""
        own = own_config(self.readings)
        return own if own in self.configs else self.main

    @cached_property
    def terms(self) -> Terms:
        """The terms of the question."""
        return self._terms([1])

    def added(self, table: str, language: str = "") -> Terms:
        """The terms of a signal's own words; none for a question of another `language`.

        The keyword signal already scores the question's own lexemes.
        """
        if (weights := self.weights.get(table)) is None or language not in ("", self.own):
            return Terms()
        factors: dict[str, float] = defaultdict(float)
        for text, weight in weights.items():
            for token in self.tokens[text]:
                factors[token.lexeme] = max(factors[token.lexeme], weight)
        return replace(self._terms(weights, without=self.terms.lexemes), factors=factors)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The words sought that no searched text contains under any configuration.

        Of an identifier, which has forms, the parts of its name prove nothing. The month of a day
        that some text has in another form is not missed.
        """
        known = self.terms.lexemes & self.frequencies.keys()
        is_day = any(each.kind == "number" and each.lexeme in known for each in self.tokens[1])
        held = {each.lexeme for each in self.tokens[0]}

        def is_known(number: int, forms: set[str], config: str) -> bool:
            words = (each for each in self.tokens[number] if each.positions is not None)
            reading = {each.lexeme for each in words if each.config == config}
            return not reading or (bool(reading & known) and (forms == {""} or len(reading) == 1))

        return tuple(
            word
            for word, (number, forms) in self.sought.items()
            if self.configs
            and not held & forms
            and not (is_day and word.casefold() in MONTHS)
            and not any(is_known(number, forms, config) for config in self.configs)
        )

    def params(self) -> dict[str, Any]:
        """The parameters of TABLE and of the other SQL of the question's words."""
        rows = [{**term._asdict(), "quoted": term.quoted} for term in self.terms.items]
        return {
            "terms": json.dumps(rows),
            "question_weights": vector(self.terms.weights()),
            "any_term": self.terms.any_of(lambda term: term.idf > 0),
            "total_idf": max(sum(term.idf for term in self.terms.items), 1e-9),
            "lexemes": self.terms.words,
        }

    def _terms(self, texts: Iterable[int], without: Collection[str] | None = None) -> Terms:
        """The terms of these texts.

        `without`: lexemes that are left out; each of the others then counts once.
        """
        tokens = [each for text in texts for each in self.tokens[text]]
        said = self._without_stop_words(list(_occurrences(tokens)))
        readings: dict[str, list[_Occurrence]] = defaultdict(list)
        for each in said:
            readings[each.lexeme].append(each)
        times = {key: _times(each) for key, each in readings.items() if key not in (without or ())}
        times = {key: each if without is None else 1.0 for key, each in times.items() if each}
        counts = {key: self.frequencies[key][0] for key in times if key in self.frequencies}
        pairs = {
            (each.kind, each.lexeme)
            for each in tokens
            if each.positions is None and {each.kind, each.lexeme} <= counts.keys()
        }
        partial = {pair for pair in pairs if counts[pair[1]] < counts[pair[0]]}
        covered = {whole for whole, _ in pairs - partial}
        kept = {key: chunks for key, chunks in counts.items() if key not in covered}
        pools = self._pools(said, kept)
        both = set(chain(*partial))
        found = [
            self._term(key, times[key], readings[key], pools[key], key in both) for key in kept
        ]
        words = [key for key in times if times[key] >= 1]
        items = _heaviest(found, is_known=all(key in counts for key in words))
        whole = sum(not all(each.is_joined for each in readings[key]) for key in words)
        left_out = len(found) - len(items)
        return Terms(items, left_out, whole - left_out, frozenset(times))

    def _without_stop_words(self, occurrences: Sequence[_Occurrence]) -> list[_Occurrence]:
        """The occurrences, stop words of the question's language, or of most chunks', marked.

        `to_tsvector` numbers the words of a text, stop words included, and all configurations split
        a text alike: a configuration without a lexeme at a position where another one has one
        dropped a stop word there. The question's language keeps its words, acronyms stay in any. A
        text of stop words alone keeps every reading.
        """
        both = {self.main, self.own}
        here: dict[tuple[int, int], set[str]] = defaultdict(set)
        for each in occurrences:
            here[each.text, each.place].add(each.config)
        first = _KINDS["acronym"][1]
        read = [
            (each, each.config == self.own or each.place >= first or both <= here[each[:2]])
            for each in occurrences
        ]
        with_words = {each.text for each, stays in read if stays and each.place < first}
        return [each._replace(stays=stays or each.text not in with_words) for each, stays in read]

    def _pools(
        self, occurrences: Iterable[_Occurrence], kept: Mapping[str, int]
    ) -> dict[str, tuple[int, int]]:
        """The df and N that the readings of a word share, by lexeme: the largest of its places."""
        places: dict[tuple[int, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for each in occurrences:
            if each.stays:
                chunks = 0 if each.is_joined else self.configs[each.config]
                places[each.text, each.place][each.lexeme] += chunks
        pools: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for readings in places.values():
            held = sum(kept.get(lexeme, 0) for lexeme in readings)
            searched = sum(readings.values())
            for lexeme in readings:
                df, n = pools[lexeme]
                pools[lexeme] = max(df, held), max(n, searched)
        return pools

    def _term(
        self,
        key: str,
        times: float,
        readings: Iterable[_Occurrence],
        pool: tuple[int, int],
        is_pair: bool,
    ) -> Term:
        """The term with its idf.

        A lexeme of the main configuration has the idf of the configurations that yield it. The
        readings of a word under the others share one, like the synonyms of Pirkola 1998: df adds
        up over all readings of the word, N over the configurations that read it. Otherwise the few
        chunks that hold “bearings” would outweigh those that hold its stem. Of a lexeme in more
        chunks than its configurations have, most belong to another word in another language: it
        counts by itself, hence next to nothing. A compound is dropped if its joined reading finds
        as many chunks; where chunks were read before there were joined readings, both are looked
        up, with one idf as for the readings of a word (`is_pair`).
        """
        chunks, number = self.frequencies[key]
        configs = {each.config for each in readings}
        searched = sum(self.configs[config] for config in configs)
        df, n = pool
        if (self.main in configs or chunks > searched) and not is_pair:
            df, n = chunks, searched
        idf = math.log(1 + (max(n - df, 0) + 0.5) / (df + 0.5))
        return Term(number, key, chunks, times, idf, idf * times * (K3 + 1) / (times + K3))


def _occurrences(tokens: Sequence[TextToken]) -> Iterator[_Occurrence]:
    """Yield each lexeme at each of its places; a compound's joined reading stands at its place."""
    joined: dict[tuple[int, str, str], dict[str, None]] = defaultdict(dict)
    for each in tokens:
        if each.positions is None:
            joined[each.text, each.config, each.kind][each.lexeme] = None
    for text, kind, config, lexeme, positions in tokens:
        for position in positions or ():
            share, first = _KINDS[kind]
            yield _Occurrence(text, first + position, config, lexeme, share, False)
            for other in joined.get((text, config, lexeme), ()):
                yield _Occurrence(text, first + position, config, other, share, True)


def _times(readings: Iterable[_Occurrence]) -> float:
    """How often a lexeme occurs, under the configuration with the most occurrences; 0 for a stop
    word.

    One that is only a part or a folded word counts as such.
    """
    shares: dict[str, list[float]] = defaultdict(list)
    for each in readings:
        if each.stays:
            shares[each.config].append(each.share)
    return max((each.count(1.0) or max(each) for each in shares.values()), default=0.0)


def _heaviest(terms: Iterable[Term], *, is_known: bool) -> tuple[Term, ...]:
    """The heaviest terms, rarest first; `is_known`: all words of the texts have chunks."""
    kept = sorted(terms, key=lambda term: (-term.weight, term.lexeme))[:MAX_TERMS]
    kept.sort(key=lambda term: (term.chunks, term.lexeme))
    before = accumulate((term.chunks for term in kept), initial=0)
    return tuple(
        term._replace(
            idf=term.idf if term.times >= 1 else 0.0,
            seeks=term.times >= FOLDED or not is_known,
            chunks_before=chunks,
        )
        for term, chunks in zip(kept, before, strict=False)
    )
