"""The answer to a question that asks for documents: how many there are, and the first of them."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import ngettext

from common.database import in_thread
from search.answers.domain import Citation, Event, Passage, Sentence, Sources, State
from search.answers.making.draft import AnswerDraft
from search.answers.making.drafting import replay
from search.answers.making.quoting import escaped
from search.answers.question_forms import Form, asks_for_all, form_of
from search.retrieval.filters import documents_of


async def write_list(work: AnswerDraft) -> list[Event]:
    """The events of an answer that counts all documents of the asker, or the results and names the
    documents of the first ones, each with its citation.
    """
    now, request = work.now, work.request
    by_document = dict[int, Passage]()
    if form_of(now.question) is Form.COUNT and asks_for_all(now.question):
        number = await in_thread(documents_of(request.viewer, request.filters).count)
        text = ngettext("%(count)d document", "%(count)d documents", number)
        confidence: float | None = 1.0
    else:
        number, confidence = work.responses[0].total, now.retrieval_confidence
        text = ngettext(
            "%(count)d result:",
            "%(count)d results. The first are:",
            number,
        )
        for passage in sorted(now.context.passages, key=lambda each: each.rank):
            by_document.setdefault(passage.document, passage)
    text %= {"count": number}
    sentences = [Sentence(0, len(text), text)]
    for passage in by_document.values():
        start, text = len(text), f"{text}\n- {escaped(passage.title)} [{passage.number}]"
        citation = Citation(passage.number)
        sentences.append(Sentence(start + 1, len(text), passage.title, (citation,)))
    work.now = replace(
        now, state=State.DONE, text=text, sentences=tuple(sentences), confidence=confidence
    )
    return [Sources(now.context), *replay(work.now)]
