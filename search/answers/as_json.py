"""The JSON forms of answers and of the events of a stream: one for the page, the API and the table.

docs/api.md documents them; a field is never renamed or removed within a version of the API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext

from ingestion.documents import completeness
from ingestion.documents.currency import as_data, date_label, label
from ingestion.models.visibility import Viewer
from search.answers.checking.conflicts import cited_conflicts
from search.answers.domain import (
    Answered,
    Begun,
    Checked,
    Citation,
    Cited,
    Context,
    Done,
    Event,
    Failed,
    NewStep,
    Passage,
    Sentence,
    Sources,
    Statement,
    Step,
    Token,
    Verdict,
)
from search.presentation.rectangles import rectangles_of

Absolute = Callable[[str], str]
# What an answer and a source have of ours under the same names.
_OF_ANSWER = (
    "id", "question", "searched_for", "text", "confidence", "retrieval_confidence", "model",
    "error", "withheld",
)  # fmt: skip
_CHOICES = ("asked_mode", "mode", "state", "evidence")
_OF_PASSAGE = (
    "number", "title", "page", "collection", "collection_slug", "start", "end", "tokens", "score",
    "rank",
)  # fmt: skip
MOST_CONFLICTS = 3  # that an answer names: more are two different texts. A guess

NAMES: dict[type, str] = {
    Begun: "begun",
    NewStep: "step",
    Sources: "sources",
    Token: "token",
    Cited: "citation",
    Checked: "check",
    Done: "done",
    Failed: "error",
}


def event_data(event: Event, *, texts: bool = True, absolute: Absolute = str) -> dict[str, Any]:
    """The data of an event; `texts`: with the passages' texts; `absolute` makes urls of paths."""
    match event:
        case Begun():
            return {}
        case NewStep(step):
            return step_data(step)
        case Sources(context):
            return {"sources": sources_data(context, texts, absolute), **_measure(context)}
        case Token(text):
            return {"text": text}
        case Cited(citation):
            return citation_data(citation)
        case Checked(index, sentence):
            return {"index": index, **sentence_data(sentence)}
        case Done(answer):
            return answer_data(answer, absolute, texts=texts)
        case Failed(code, message, _):
            return {"code": code, "message": message}


def answer_data(
    answer: Answered, absolute: Absolute = str, *, texts: bool = True
) -> dict[str, Any]:
    """An answer with its sources, sentences, steps and cost."""
    return {
        **{name: getattr(answer, name) for name in _OF_ANSWER},
        **{name: getattr(answer, name).value for name in _CHOICES},
        "query": answer.question,
        "sentences": [sentence_data(each) for each in answer.sentences],
        "sources": sources_data(answer.context, texts, absolute, cited=answer.cited),
        **_measure(answer.context),
        "supported": supported_share(answer.sentences),
        "degraded": list(answer.degraded),
        "notes": list(answer.notes),
        "steps": [step_data(step) for step in answer.steps],
        "usage": asdict(answer.usage),
        "dropped_citations": answer.dropped,
        "milliseconds": round(answer.milliseconds, 1),
        "first_token_milliseconds": answer.first_token_ms,
        "thread": answer.thread or None,
    }


def sources_data(
    context: Context, texts: bool, absolute: Absolute, *, cited: tuple[int, ...] | None = None
) -> list[dict[str, Any]]:
    """The passages of a context; with `cited`, whether the answer cites each."""
    return [
        {
            **source_data(passage, texts, absolute),
            **({} if cited is None else {"cited": passage.number in cited}),
        }
        for passage in context.passages
    ]


def source_data(passage: Passage, texts: bool, absolute: Absolute) -> dict[str, Any]:
    data: dict[str, Any] = {
        **{name: getattr(passage, name) for name in _OF_PASSAGE},
        "document": passage.document_id,
        "heading_path": list(passage.heading_path),
        "chunk": passage.ordinal,
        "chunk_ids": list(passage.chunk_ids),
        "url": absolute(passage_url(passage)),
        "currency": as_data(passage.currency, absolute),
        "date": passage.date and passage.date.as_data(),
    }
    return {**data, "text": passage.text} if texts else data


def not_current(answer: Answered) -> list[str]:
    """A sentence for each cited document that is not current, with the number of its passage.

    It does not name the document's successor, because others may read the answer.
    """
    first = {each.document: each for each in reversed(answer.cited_passages)}
    return _by_number((each, label(each.currency)) for each in first.values())


def incomplete(answer: Answered) -> list[str]:
    """A sentence for each cited version that is not wholly searchable, as in `not_current`."""
    first = {each.version: each for each in reversed(answer.cited_passages)}
    return _by_number((each, completeness.note(each.completeness)) for each in first.values())


def _by_number(gaps: Iterable[tuple[Passage, str]]) -> list[str]:
    text = gettext("Source %(number)d: %(gap)s")
    return [text % {"number": each.number, "gap": gap} for each, gap in gaps if gap]


def disagreements(answer: Answered) -> list[str]:
    """A sentence for each figure that two first sources give differently, if one is cited."""
    return [
        gettext("Sources disagree. %(newer)s; %(older)s.")
        % {"newer": _said(each.newer), "older": _said(each.older)}
        for each in cited_conflicts(answer)[:MOST_CONFLICTS]
    ]


def _said(side: Statement) -> str:
    names = {"figure": side.figure, "number": side.passage.number}
    text = gettext("%(figure)s (source %(number)d)") % names
    date = date_label(side.passage.date)
    return f"{date}: {text}" if date else text


def passage_url(passage: Passage) -> str:
    """The path of the document's page at the passage."""
    address = reverse("search:document", args=(passage.document_id,))
    return f"{address}?{urlencode({'chunk': passage.ordinal})}#chunk-{passage.ordinal}"


def sentence_data(sentence: Sentence) -> dict[str, Any]:
    return {
        "start": sentence.start,
        "end": sentence.end,
        "text": sentence.text,
        "citations": [citation_data(each) for each in sentence.citations],
        "verdict": sentence.verdict.value,
        "reasons": list(sentence.reasons),
        "credit": sentence.credit,
    }


def sentence_from(data: dict[str, Any]) -> Sentence:
    """The sentence that `sentence_data` wrote."""
    cited = (Citation(each["source"], each["start"], each["end"]) for each in data["citations"])
    read = {"citations": tuple(cited), "verdict": Verdict(data["verdict"])}
    return Sentence(**{**data, **read, "reasons": tuple(data["reasons"])})


def citation_data(citation: Citation) -> dict[str, int]:
    return {"source": citation.passage, "start": citation.start, "end": citation.end}


def add_rectangles(data: dict[str, Any], context: Context, *, viewer: Viewer) -> None:
    """Give the sources and citations of an answer's data their places on pages. One query."""
    passages = {passage.number: passage for passage in context.passages}
    cited = [
        (citation, passages[citation["source"]])
        for sentence in data["sentences"]
        for citation in sentence["citations"]
    ]
    spans: dict[Any, tuple[tuple[int, ...], str]] = {
        number: (passage.chunk_ids, "") for number, passage in passages.items()
    }
    for place, (citation, passage) in enumerate(cited):
        words = passage.text[citation["start"] : citation["end"]]
        spans["cited", place] = (passage.chunk_ids, words)
    rectangles = rectangles_of(spans, viewer=viewer)
    for source in data["sources"]:
        source["rectangles"] = rectangles[source["number"]]
    for place, (citation, _) in enumerate(cited):
        citation["rectangles"] = rectangles["cited", place]


def step_data(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "detail": step.detail,
        "milliseconds": round(step.milliseconds, 1),
        "usage": asdict(step.usage),
    }


def supported_share(sentences: tuple[Sentence, ...]) -> float | None:
    """The share of the checked sentences that are supported; None if none was checked."""
    checked = [each for each in sentences if each.verdict is not Verdict.UNCHECKED]
    if not checked:
        return None
    return sum(each.verdict is Verdict.SUPPORTED for each in checked) / len(checked)


def _measure(context: Context) -> dict[str, int]:
    return {"context_tokens": context.tokens, "context_budget": context.budget}
