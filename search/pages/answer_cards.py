"""An answer as its page displays it: HTML, sources, and its steps in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.documents.currency import date_label, label
from search.answers import recording
from search.answers.as_json import passage_url
from search.answers.domain import MODEL_FAILED, Answered, Mode, Passage, State, Step, Verdict
from search.answers.models import Answer, AnswerFeedback
from search.answers.rendering import answer_html, linked_markdown, passage_html

_HEADING = re.compile("<h3>.*?</h3>")

MODES = {Mode.INSTANT: _("Instant"), Mode.AUTO: _("Auto"), Mode.THINKING: _("Thinking")}
ENDS = {
    State.RUNNING: _("This answer is still being written, or was interrupted."),
    State.STOPPED: _("Stopped before its end."),
    State.FAILED: _("The answer broke off. Ask again."),
}
STEPS = {
    "search": _("Search"),
    "rewrite": _("Rewriting the question"),
    "standalone": _("Rewriting the question"),
    "split": _("Splitting the question"),
    "quotes": _("Choosing passages"),
    "answer": _("Writing"),
    "repair": _("Correcting"),
}
DEGRADED = {
    "model": _("The language model is unavailable."),
    "budget": _("The budget for written answers is spent."),
    "vector": _("Meaning-based matching is unavailable; the answer rests on keyword matches."),
    "reranker": _("The reranker is unavailable; the answer rests on the order without it."),
}


@dataclass(frozen=True, slots=True)
class SourceCard:
    passage: Passage
    html: SafeString
    url: str
    is_cited: bool

    @property
    def date(self) -> str:
        return date_label(self.passage.date)

    @property
    def stale(self) -> str:
        """A sentence if its document is not current; else empty."""
        return label(self.passage.currency)


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """The data of an answer's template. `prefix` is unique on the page.

    `is_stored`: the answer has a page of its own and takes feedback. `carried` are the fields that
    further questions repeat.
    """

    answered: Answered
    prefix: str
    html: SafeString
    sources: tuple[SourceCard, ...]
    markdown: str
    is_stored: bool
    is_own: bool
    carried: tuple[tuple[str, Any], ...] = ()

    @property
    def piece(self) -> SafeString:
        """A quote without the name of its section, for the result of that section."""
        return mark_safe(_HEADING.sub("", self.html, count=1))  # noqa: S308  # as safe as `html`

    @property
    def cited(self) -> list[SourceCard]:
        return [each for each in self.sources if each.is_cited]

    @property
    def others(self) -> list[SourceCard]:
        return [each for each in self.sources if not each.is_cited]

    @property
    def is_refused(self) -> bool:
        return self.answered.state is State.REFUSED

    @property
    def end(self) -> str:
        """A sentence on an early end of the answer; empty for a complete one."""
        return str(ENDS.get(self.answered.state, ""))

    @property
    def is_rewritten(self) -> bool:
        return self.answered.searched_for != self.answered.question

    @property
    def percent(self) -> int | None:
        confidence = self.answered.confidence
        return None if confidence is None or self.is_refused else round(confidence * 100)

    @property
    def checked(self) -> int:
        return sum(each.verdict is not Verdict.UNCHECKED for each in self.answered.sentences)

    @property
    def supported(self) -> int:
        return sum(each.verdict is Verdict.SUPPORTED for each in self.answered.sentences)

    @property
    def degraded(self) -> list[str]:
        """Sentences on failed parts.

        For a model, the notes already have the reason and the replacement.
        """
        explained = MODEL_FAILED if self.answered.model or self.answered.notes else frozenset()
        return [
            str(DEGRADED.get(name) or gettext("Unavailable: %(name)s.") % {"name": name})
            for name in self.answered.degraded
            if name not in explained
        ]

    @property
    def steps(self) -> list[tuple[str, Step]]:
        return [(step_label(step.name), step) for step in self.answered.steps]

    @property
    def tokens(self) -> int:
        return self.answered.usage.prompt_tokens + self.answered.usage.completion_tokens

    @property
    def modes(self) -> list[tuple[str, str, bool]]:
        requested = self.answered.asked_mode
        return [(mode.value, str(label), mode is requested) for mode, label in MODES.items()]

    @property
    def mode(self) -> str:
        return str(MODES[self.answered.mode])


@dataclass(frozen=True, slots=True)
class WithheldCard:
    """An answer that its reader may not read: a source is not, or no longer, readable."""

    question: str
    prefix: str
    is_withheld: bool = True


def step_label(name: str) -> str:
    return str(STEPS.get(name, name))


def answer_card(
    answered: Answered,
    request: HttpRequest,
    *,
    is_stored: bool,
    is_own: bool = True,
    carried: Iterable[tuple[str, Any]] = (),
) -> AnswerCard:
    prefix = prefix_of(answered.id)
    if answered.state is State.REFUSED and answered.text:
        answered = replace(answered, text=gettext(answered.text))  # the settings', if it ships
    citations = [each for sentence in answered.sentences for each in sentence.citations]
    return AnswerCard(
        answered=answered,
        prefix=prefix,
        html=answer_html(answered, prefix=prefix),
        sources=tuple(
            SourceCard(
                passage,
                passage_html(passage, citations),
                passage_url(passage),
                passage.number in answered.cited,
            )
            for passage in answered.context.passages
        ),
        markdown=linked_markdown(answered, request.build_absolute_uri),
        is_stored=is_stored,
        is_own=is_own,
        carried=tuple(carried),
    )


def stored_card(row: Answer, request: HttpRequest) -> AnswerCard | WithheldCard:
    """A stored answer as its reader may see it; the row is one of `with_readable_sources`."""
    if row.is_withheld or (row.state == State.DONE.value and not row.text):
        return WithheldCard(recording.for_reader(row).question, prefix_of(str(row.public_id)))
    is_own = request.user.is_authenticated and row.user_id == request.user.pk
    is_own = is_own or (row.user_id is None and bool(row.visitor))
    return answer_card(recording.answered(row), request, is_stored=True, is_own=is_own)


def prefix_of(answer_id: str) -> str:
    return f"answer-{answer_id[:8]}"


def answer_fragment(card: AnswerCard, request: HttpRequest) -> str:
    """The HTML of one answer."""
    return render_to_string("search/answers/answer.html", context_of(card), request)


def context_of(card: AnswerCard | WithheldCard) -> dict[str, Any]:
    return {
        "card": card,
        "reasons": AnswerFeedback.Reason.choices,
        "writes": settings.ANSWERS_GENERATED,
    }
