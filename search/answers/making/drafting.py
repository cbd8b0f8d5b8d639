"""The text of an answer as it grows: citations as they come, sentences checked as they complete.

Pure: a `Draft` takes the pieces of a model's stream and returns the events that they make.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ingestion.embedding.protocol import encodable
from search.answers.checking.splitting import MARKER, completed, split
from search.answers.checking.verdicts import check, markers_of
from search.answers.domain import (
    NOT_SUPPORTED,
    Answered,
    Checked,
    Cited,
    Context,
    Event,
    Sentence,
    Token,
    Verdict,
)
from search.answers.generating.markers import MarkerParser

# The end of a complete sentence: its stop, and then the markers.
_END = re.compile(r"[.!?…。！？][\"'”’»)\]*_]*(?:\s*\[\d+\])*\s*$|\[\d+\]\s*$")
# A text is searched for whole sentences when its unfinished part grew by this part of itself: a
# sentence of 250 characters at every 5, but a model that never ends one costs no quadratic time.
RETRY = 50
REPETITIONS = 3  # a sentence that comes so often ends the answer; a guess


class Draft:
    """The received part of a model's answer. `refusal` is the text that means "no answer".

    `has_new_markers`: sentences without a citation got one at the end, and their offsets changed.
    """

    def __init__(self, context: Context, refusal: str, question: str) -> None:
        self.text = ""
        self.sentences: tuple[Sentence, ...] = ()
        self.has_new_markers = False
        self._context = context
        self._question = question
        self._refusal = _spaced(refusal)
        self._tried = 0
        self._parser = MarkerParser([each.number for each in context.passages])

    @property
    def dropped(self) -> int:
        """The number of markers that named no passage."""
        return self._parser.dropped

    @property
    def has_words(self) -> bool:
        """Whether the text is more than spaces and markers."""
        return re.search(r"\w", MARKER.sub("", self.text)) is not None

    @property
    def is_refusal(self) -> bool:
        return bool(self._refusal) and _spaced(self.text) == self._refusal

    @property
    def is_repeating(self) -> bool:
        """Whether a sentence came REPETITIONS times; what follows says no more."""
        counts = Counter(each.text for each in self._claims)
        return max(counts.values(), default=0) >= REPETITIONS

    @property
    def _claims(self) -> list[Sentence]:
        return [each for each in self.sentences if each.verdict is not Verdict.UNCHECKED]

    def end_repetition(self) -> None:
        """Keep the text before the first sentence that came again."""
        first = {each.text: each for each in reversed(self._claims)}
        again = next(each for each in self._claims if first[each.text] is not each)
        self.text = self.text[: again.start].rstrip()
        self.sentences = self.sentences[: self.sentences.index(again)]
        self._parser = MarkerParser([each.number for each in self._context.passages])

    def feed(self, piece: str) -> list[Event]:
        """The events that the next piece of the stream causes."""
        storable = encodable(piece).replace("\0", "")  # Postgres' texts hold no NUL
        events = self._append(self._parser.feed(storable))
        since = self.sentences[-1].end if self.sentences else 0
        grown = len(self.text) - self._tried
        if grown * RETRY < len(self.text) - since or self._may_refuse():
            return events
        self._tried = len(self.text)
        return [*events, *(self._checked(span) for span in completed(self.text, since))]

    def close(self) -> list[Event]:
        """The events at the end: the rest of the text, and every sentence not checked before."""
        events = self._append(self._parser.close())
        if self.is_refusal:
            self.sentences = ()
            return events
        by_span = {(each.start, each.end): each for each in self.sentences}
        spans = split(self.text)
        sentences = [by_span.get(span) or self._check(span) for span in spans]
        before, self.sentences = self.sentences, tuple(sentences)
        for index, sentence in enumerate(sentences):
            if index >= len(before) or before[index] != sentence:
                events.append(Checked(index, sentence))
        self._add_markers()
        return events

    def _add_markers(self) -> None:
        """Write the citation of each complete sentence that had none, but of no row or code."""
        text, at, sentences = "", 0, []
        for each in self.sentences:
            start, end = len(text) + each.start - at, each.end
            text, at = text + self.text[at:end], end
            is_whole = each is not self.sentences[-1] or _END.search(text) is not None
            is_cited = not each.citations or markers_of(self.text, (each.start, end))
            if is_whole and not is_cited and text[-1] not in "|`~":
                text += f" [{each.citations[0].passage}]"
            sentences.append(replace(each, start=start, end=len(text)))
        self.has_new_markers = len(text) > at
        self.text, self.sentences = text + self.text[at:], tuple(sentences)

    def _check(self, span: tuple[int, int]) -> Sentence:
        return check(self.text, span, self._context, self._question)

    def cut(self) -> bool:
        """Keep the complete sentences of a stream that broke off; False if there are none."""
        self.close()
        if self.sentences and not _END.search(self.text[: self.sentences[-1].end]):
            self.sentences = self.sentences[:-1]
        self.text = self.text[: self.sentences[-1].end] if self.sentences else ""
        return self.has_words

    def _may_refuse(self) -> bool:
        short = len(self.text) <= 2 * len(self._refusal)
        return short and self._refusal.startswith(_spaced(self.text))

    def _append(self, made: Sequence[Token | Cited]) -> list[Event]:
        self.text += "".join(each.text for each in made if isinstance(each, Token))
        return list(made)

    def _checked(self, span: tuple[int, int]) -> Checked:
        sentence = self._check(span)
        self.sentences = (*self.sentences, sentence)
        return Checked(len(self.sentences) - 1, sentence)


def replay(answer: Answered) -> Iterator[Event]:
    """The events that repeat the whole answer, with one token for each sentence."""
    starts = [0, *(each.start for each in answer.sentences[1:]), len(answer.text)]
    if not answer.sentences and answer.text:
        yield Token(answer.text)
    for index, sentence in enumerate(answer.sentences):
        yield Token(answer.text[starts[index] : starts[index + 1]])
        for citation in sentence.citations:
            yield Cited(citation)
        yield Checked(index, sentence)


def unsupported(sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """The sentences that their passages do not support."""
    return tuple(each for each in sentences if each.verdict in NOT_SUPPORTED)


def _spaced(text: str) -> str:
    return " ".join(text.split())
