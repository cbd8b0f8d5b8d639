"""The text of an answer with its citations as links, and the annotations that name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.utils.text import Truncator

from search.answers.as_json import passage_url
from search.answers.domain import Answered, Citation, Context, Passage

# `]` before a parenthesis is a link already.
LINE = 200  # characters of a snippet. A guess
_MARKER = re.compile(r"\[(\d{1,4})\](?!\()")


class Links:
    """The text sent so far, its citations as links, and what annotations say of them.

    `[1]` becomes `[1](https://kb.example.org/documents/...)`. Most clients show Markdown and ignore
    annotations; those that read annotations find the same link by its offsets, in code points.
    """

    def __init__(self, absolute: Callable[[str], str]) -> None:
        self._absolute = absolute
        self._context = Context()
        self.text = ""
        self.citations: list[dict[str, Any]] = []
        self._cited: list[Passage] = []

    def read(self, context: Context) -> None:
        """From now on, markers name the passages of this context."""
        self._context = context

    @property
    def urls(self) -> list[str]:
        """The address of each source: that of source 1 first."""
        return [self._absolute(passage_url(each)) for each in self._context.passages]

    def annotations(self, answer: Answered) -> Iterator[dict[str, Any]]:
        """The citations, each with the date of its document and a line of the cited words."""
        spans = {each.passage: each for row in answer.sentences for each in row.citations}
        for citation, passage in zip(self.citations, self._cited, strict=True):
            words = spans.get(passage.number, Citation(passage.number))
            text = passage.text[words.start : words.end or None]
            date = {"date": passage.date.as_data()} if passage.date else {}
            yield {**citation, "snippet": Truncator(" ".join(text.split())).chars(LINE), **date}

    def add(self, text: str) -> str:
        """The text with links, as it follows what was sent."""
        before, last = len(self.text), 0
        for marker in _MARKER.finditer(text):
            passage = self._context.passage(int(marker[1]))
            if passage is None:
                continue
            self.text += text[last : marker.start()]
            url = self._absolute(passage_url(passage))
            start = len(self.text)
            self.text += f"{marker[0]}({url})"
            place = {"start_index": start, "end_index": len(self.text)}
            self.citations.append({**place, "url": url, "title": passage.title})
            self._cited.append(passage)
            last = marker.end()
        self.text += text[last:]
        return self.text[before:]
