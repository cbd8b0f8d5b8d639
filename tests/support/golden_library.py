"""A small judged library; one document's title promises what another one's text contains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from common.accounts.models import User
from ingestion.models import Document
from search.models import SearchProfile
from search.tuning import diff, drafts, judging
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

KEYWORDS_ONLY = {"vector": 0, "keyword": 1, "title": 0}
TITLE_ONLY = {"vector": 0, "keyword": 0, "title": 1}

TEXTS = {
    "ferry": "# Crossing\n\nThe ferry crosses the river twice an hour, and never in fog.\n",
    "bread": "# Baking\n\nYeast makes the dough of a loaf rise for two hours.\n",
    "river": "# River\n\nThe stream is wide here, and nobody crosses without a boat.\n",
    "inn": "# The rise\n\nAn inn by the harbour, closed in winter, known for its songs.\n",
    "tides": "# Tides\n\nHigh water comes twice a day, an hour later each day.\n",
}
QUESTIONS = {
    "how often does the ferry cross the river": ("ferry", 3),
    "why does yeast make the dough of a loaf rise": ("bread", 2),
    "when is high water": ("tides", 3),
}


@contextmanager
def lasting_documents(blocker: Any) -> Iterator[dict[str, Document]]:
    """The documents by a short name, for all tests of a module: created once, in a transaction."""
    with lasting(blocker):
        shelf = make_collection("Harbour")
        yield {
            name: make_document(shelf, text, file_name=f"{name}.md") for name, text in TEXTS.items()
        }


def judge_all(documents: Mapping[str, Document], judge: User) -> None:
    """Create the three golden queries, with a judgement of each."""
    for text, (name, grade) in QUESTIONS.items():
        judging.judge(text, [], documents[name], grade, acting_user=judge)


def active_profile() -> SearchProfile:
    return SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)


def draft_with(
    weights: Mapping[str, float] | None = None, *, user: User | None = None, **fields: object
) -> SearchProfile:
    """Create a draft of the active profile with these weights for every class, and these fields."""
    draft = drafts.draft_from(active_profile(), acting_user=user)
    for name, value in fields.items():
        setattr(draft, name, value)
    draft.save()
    if weights is not None:
        shares = {**dict.fromkeys(diff.SIGNALS, Decimal(0)), **weights}
        draft.class_weights.update(**shares)
    return SearchProfile.objects.get(pk=draft.pk)
