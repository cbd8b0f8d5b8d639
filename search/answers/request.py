"""A question with all that decides how it is answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from common.accounts.models import User
from ingestion.models.visibility import Viewer
from search.answers.domain import AnswerParameters, Mode
from search.answers.models import Thread
from search.pipeline import Choices, SearchResponse
from search.retrieval import Filters


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A question, its asker, and the choices for its answer.

    `mode` None: the settings' mode. `searched_for` is the question as its reader edited it for the
    search; None: a question after earlier ones is made to stand alone. `earlier` are the previous
    questions of a conversation that is not stored here, oldest first; those of a `thread` are read
    from it. `is_extractive`: quotes, even if there is a model. `visitor` is the key of the asker,
    for reading back and feedback; `budget_key` the key of an anonymous asker's budget.
    `parameters` replaces the site's answer settings, for example by those under test; `choices`
    decides how the search ranks. If not `is_recorded`, nothing is stored. An answer whose
    confidence is less than `abstain_below`, or unknown, becomes a refusal. `response` is that of
    the asker's own search for the question, if a page has just shown it.
    """

    question: str
    viewer: Viewer
    visitor: str = ""
    budget_key: str = ""
    mode: Mode | None = None
    filters: Filters = field(default_factory=Filters)
    choices: Choices = field(default_factory=Choices)
    thread: Thread | None = None
    parameters: AnswerParameters | None = None
    channel: str = "page"
    is_recorded: bool = True
    searched_for: str | None = None
    is_extractive: bool = False
    earlier: tuple[str, ...] = ()
    abstain_below: float | None = None
    response: SearchResponse | None = None

    @property
    def user(self) -> User | None:
        """The signed-in asker; None for a visitor."""
        return self.viewer if self.viewer is not None and self.viewer.is_authenticated else None
