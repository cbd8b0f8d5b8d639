"""An answer in the making: its present state, its cost, and its calls of the model."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace

from django.db import DatabaseError
from django.utils.translation import gettext

from common.database import in_thread
from search.answers import recording
from search.answers.checking.verdicts import product_confidence
from search.answers.domain import (
    Answered,
    AnswerParameters,
    Context,
    Event,
    NewStep,
    State,
    Step,
    Usage,
    Verdict,
)
from search.answers.generating.language_model import Model
from search.answers.request import AnswerRequest
from search.errors import BudgetExceeded, ModelUnavailable
from search.pipeline import SearchResponse

# The longest reply to a request for searches, in tokens: a few lines.
SHORT_REPLY = 200
# A model that refuses in words of its own says no more. A guess.
SENTENCES_OF_REFUSAL = 2


def milliseconds_since(began: float) -> float:
    """Milliseconds since a reading of `time.perf_counter`."""
    return (time.perf_counter() - began) * 1000


@dataclass
class AnswerDraft:
    """An answer in the making; `now` is the part that exists.

    `earlier` are the questions of its thread, oldest first; `rule_question` is the standalone
    question by the rule for sites without a model. `failure` is the error that ended the use of the
    model. `is_foreign`: see `searching.is_foreign`.
    """

    request: AnswerRequest
    parameters: AnswerParameters
    model: Model | None
    now: Answered
    began: float = field(default_factory=time.perf_counter)
    earlier: tuple[str, ...] = ()
    rule_question: str = ""
    failure: ModelUnavailable | None = None
    is_widened: bool = False
    is_foreign: bool = False
    responses: list[SearchResponse] = field(default_factory=list)
    _sent_steps: int = 0
    _storing: asyncio.Future[None] | None = None

    def with_currency(self, context: Context) -> Context:
        """The context, in which each passage of a document that is not current has the reason."""
        for response in self.responses:
            context = context.with_currency(response.ranking.candidates.currency)
        return context

    @property
    def has_model(self) -> bool:
        return self.model is not None and self.failure is None

    @property
    def is_low(self) -> bool:
        """Whether the searches found too little for an answer."""
        confidence = self.now.retrieval_confidence
        least = max(self.parameters.refuse_below, self.request.abstain_below or 0.0)
        return confidence is not None and confidence < least

    @property
    def fits_nothing(self) -> bool:
        """Whether nothing that the asker may read seems to answer the question.

        For a foreign question the model decides; without a model, the quotes do.
        """
        is_undecided = self.model is None or (self.is_foreign and self.has_model)
        return (self.is_low and not is_undecided) or not self.now.context.passages

    @property
    def is_whole(self) -> bool:
        """Whether the answer has a text, complete and as the model or the quotes made it."""
        return self.now.state is State.DONE and self.failure is None

    @property
    def worth(self) -> float | None:
        """The answer's confidence, also of refused quotes; 0 if a model's text cites nothing."""
        if self.now.confidence is not None and not self.now.model:
            return self.now.confidence
        if self.now.model and not self.now.cited:
            return 0.0
        return product_confidence(self.now.retrieval_confidence, self.now.sentences)

    @property
    def refuses_in_other_words(self) -> bool:
        """Whether the model's text is so short, claims and cites nothing: it has no answer."""
        sentences = self.now.sentences
        if not (self.is_whole and self.now.model) or self.now.cited:
            return False
        is_short = 0 < len(sentences) <= SENTENCES_OF_REFUSAL
        return is_short and all(each.verdict is Verdict.UNCHECKED for each in sentences)

    async def ask(self, messages: list[dict[str, str]], purpose: str, max_tokens: int = 0) -> str:
        """The model's reply to a request; empty without a model, and if it fails.

        Without `max_tokens` it is a short one, in JSON.
        """
        if self.model is None or self.failure is not None:
            return ""
        await self.begin()
        try:
            most = max_tokens or SHORT_REPLY
            return await self.model.complete(
                messages, purpose=purpose, max_tokens=most, json=not max_tokens
            )
        except ModelUnavailable as error:
            self.failure = error
            return ""

    async def begin(self) -> None:
        """Store the answer as running, before the first call of a model."""
        if self._storing is None and self.request.is_recorded:
            self._storing = asyncio.ensure_future(
                in_thread(lambda: recording.start(self.now, self.request))
            )
        if self._storing is not None:
            await asyncio.shield(self._storing)

    async def is_stored(self) -> bool:
        """Whether the answer has a row. Waits for one that a cancelled task began to store."""
        if self._storing is None:
            return False
        try:
            await asyncio.shield(self._storing)
        except DatabaseError:
            return False
        return True

    def degrade(self) -> None:
        """Note why the model did not write, and that quotes replace its text if they do."""
        if self.failure is None or self._failed_part in self.now.degraded:
            return
        note = "%(reason)s"
        if self.now.state is State.DONE:
            note = gettext("%(reason)s The sentences below are quoted from the sources instead.")
        self.mark_degraded(self._failed_part)
        self.note(note % {"reason": self.failure})

    def mark_cut_short(self) -> None:
        """Note that the model failed in the middle of its answer."""
        note = gettext("The answer was cut; the sentences before are kept. %(reason)s")
        self.mark_degraded(self._failed_part)
        self.note(note % {"reason": self.failure})

    @property
    def _failed_part(self) -> str:
        return "budget" if isinstance(self.failure, BudgetExceeded) else "model"

    def mark_degraded(self, *names: str) -> None:
        """Add names of failed parts to `degraded`, each once."""
        self.now = replace(self.now, degraded=tuple(dict.fromkeys((*self.now.degraded, *names))))

    def note(self, *notes: str) -> None:
        """Add sentences for readers to the notes, each once."""
        self.now = replace(self.now, notes=tuple(dict.fromkeys((*self.now.notes, *notes))))

    def usage(self) -> Usage:
        """The model's usage so far."""
        return self.model.usage if self.model is not None else Usage()

    def add_step(self, name: str, detail: str, began: float, before: Usage) -> None:
        """Add a step that began then; its cost is the model's usage since `before`."""
        after = self.usage()
        cost = Usage(
            after.prompt_tokens - before.prompt_tokens,
            after.completion_tokens - before.completion_tokens,
            after.cost - before.cost,
            after.estimated,
        )
        step = Step(name, detail, milliseconds_since(began), cost)
        self.now = replace(self.charged(), steps=(*self.now.steps, step))

    def charged(self) -> Answered:
        """The current answer with its duration and its cost."""
        elapsed = milliseconds_since(self.began)
        return replace(self.now, usage=self.usage(), milliseconds=elapsed)

    def new_steps(self) -> list[Event]:
        """The events of the steps that were not yet sent."""
        new = self.now.steps[self._sent_steps :]
        self._sent_steps = len(self.now.steps)
        return [NewStep(step) for step in new]
