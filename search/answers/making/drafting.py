"""The text of an answer as it grows: citations as they come, sentences checked as they complete.

Pure: a `Draft` takes the pieces of a model's stream and returns the events that they make.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ingestion.embedding.protocol import encodable
from search.answers.checking.splitting import MARKER, completed, split
from search.answers.checking.verdicts import check
from search.answers.domain import (
    NOT_SUPPORTED,
    Answered,
    Checked,
    Cited,
    Context,
    Event,
    Sentence,
    Token,
)
from search.answers.generating.markers import MarkerParser

# The end of a complete sentence: its stop, and then the markers.
_END = re.compile(r"[.!?…。！？][\"'”’»)\]*_]*(?:\s*\[\d+\])*\s*$|\[\d+\]\s*$")
# A text is searched for whole sentences when its unfinished part grew by this part of itself: a
# sentence of 250 characters at every 5, but a model that never ends one costs no quadratic time.
RETRY = 50


class Draft:
    """A model's answer as far as it has come. `refusal` is the text that means it has none."""

    def __init__(self, context: Context, refusal: str) -> None:
        self.text = ""
        self.sentences: tuple[Sentence, ...] = ()
        self._context = context
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

    def feed(self, piece: str) -> list[Event]:
        """The events of another piece of the stream."""
        storable = encodable(piece).replace("\0", "")  # Postgres' texts hold no NUL
        events = self._append(self._parser.feed(storable))
        since = self.sentences[-1].end if self.sentences else 0
        grown = len(self.text) - self._tried
        if grown * RETRY < len(self.text) - since or self._may_refuse():
            return events
        self._tried = len(self.text)
        return [*events, *(self._checked(span) for span in completed(self.text, since))]

    def close(self) -> list[Event]:
        """The events of the end: the rest of the text, and each sentence not checked before."""
        events = self._append(self._parser.close())
        if self.is_refusal:
            self.sentences = ()
            return events
        by_span = {(each.start, each.end): each for each in self.sentences}
        spans = split(self.text)
        sentences = [by_span.get(span) or check(self.text, span, self._context) for span in spans]
        before, self.sentences = self.sentences, tuple(sentences)
        for index, sentence in enumerate(sentences):
            if index >= len(before) or before[index] != sentence:
                events.append(Checked(index, sentence))
        return events

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
        sentence = check(self.text, span, self._context)
        self.sentences = (*self.sentences, sentence)
        return Checked(len(self.sentences) - 1, sentence)


def replay(answer: Answered) -> Iterator[Event]:
    """The events that say the whole answer once more, a sentence a token."""
    starts = [0, *(each.start for each in answer.sentences[1:]), len(answer.text)]
    if not answer.sentences and answer.text:
        yield Token(answer.text)
    for index, sentence in enumerate(answer.sentences):
        yield Token(answer.text[starts[index] : starts[index + 1]])
        for citation in sentence.citations:
            yield Cited(citation)
        yield Checked(index, sentence)


def unsupported(sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """The sentences that their passages do not bear out."""
    return tuple(each for each in sentences if each.verdict in NOT_SUPPORTED)


def _spaced(text: str) -> str:
    return " ".join(text.split())
