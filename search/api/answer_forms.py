"""The forms of answers for the schema, and stored answers as JSON, as their reader may see them.

The JSON of one answer is that of `answers.as_json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from common.api.serializers import BooleanField, ChoiceField, Parameters
from ingestion.api.serializers import CurrencyField, DocumentDateField
from search.analytics.pseudonyms import visitor_of
from search.answers import recording
from search.answers.as_json import answer_data
from search.answers.domain import CONFIDENCE, Mode, State, Verdict
from search.answers.feedback import MAX_NOTE
from search.answers.models import Answer, AnswerFeedback
from search.api.parameters import QuestionParameters, WeightsObjectField
from search.api.results import EVIDENCE, rectangles_field
from search.query import MAX_QUERY_CHARS

EVENT_STREAM = "text/event-stream"
MODES = [mode.value for mode in Mode]
STATES = [state.value for state in State]
VERDICTS = [verdict.value for verdict in Verdict]
_OF_ROW = ("at", "question", "asked_mode", "mode", "state", "model")


class CitationSerializer(serializers.Serializer[Any]):
    """A citation. Both offsets 0: the whole passage is meant."""

    source = serializers.IntegerField(  # type: ignore[assignment]
        help_text="The number of the source."
    )
    start = serializers.IntegerField(help_text="Where the quoted words begin in its text.")
    end = serializers.IntegerField()
    rectangles = rectangles_field("the quoted words")


class AnswerSourceSerializer(serializers.Serializer[Any]):
    """A passage that the answer may stand on."""

    number = serializers.IntegerField(help_text="From 1; `[1]` in the text cites it.")
    document = serializers.UUIDField(help_text="The document's id.")
    title = serializers.CharField()
    heading_path = serializers.ListField(child=serializers.CharField())
    page = serializers.IntegerField(allow_null=True)
    collection = serializers.CharField(
        help_text="The collection's name. From 0.4 an object of `slug` and `name`, as of a search."
    )
    collection_slug = serializers.CharField(help_text="The collection, as requests name it.")
    chunk = serializers.IntegerField(help_text="The ordinal of its first passage, from 0.")
    chunk_ids = serializers.ListField(child=serializers.IntegerField())
    start = serializers.IntegerField(help_text="Offset into the document's extracted text.")
    end = serializers.IntegerField()
    tokens = serializers.IntegerField()
    score = serializers.FloatField()
    rank = serializers.IntegerField(help_text="Among the results of the search.")
    url = serializers.URLField(help_text="The document's page at the passage.")
    currency = CurrencyField(help_text="Whether its document is current: say it if not.")
    date = DocumentDateField(help_text="Say it of what may have changed since.")
    cited = serializers.BooleanField(help_text="Whether the answer cites it.")
    text = serializers.CharField(required=False, help_text="Without `texts=false`.")
    rectangles = rectangles_field("all of the passage")


class SentenceSerializer(serializers.Serializer[Any]):
    """A sentence of the answer, with what the check says of it."""

    start = serializers.IntegerField(help_text="Offset into the answer's text.")
    end = serializers.IntegerField()
    text = serializers.CharField(help_text="Without citation markers.")
    citations = CitationSerializer(many=True)
    verdict = serializers.ChoiceField(
        choices=VERDICTS,
        help_text="`unsupported`: its sources lack a figure, name, identifier or quotation of it. "
        "`unverified`: it cites none, or they have too few of its words. `unchecked`: it claims "
        "nothing to check.",
    )
    reasons = serializers.ListField(
        child=serializers.CharField(), help_text="Why it is not supported; otherwise empty."
    )
    credit = serializers.FloatField(help_text="What its citations are worth, in [0, 1].")


class UsageSerializer(serializers.Serializer[Any]):
    """What the language model used."""

    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost = serializers.FloatField()
    estimated = serializers.BooleanField(help_text="The server did not count.")


class StepSerializer(serializers.Serializer[Any]):
    """A step of the answer, and its cost."""

    name = serializers.CharField(help_text="`search`, `rewrite`, `answer`, ...")
    detail = serializers.CharField(help_text="Such as the text that was searched for.")
    milliseconds = serializers.FloatField()
    usage = UsageSerializer()


class FeedbackSerializer(serializers.ModelSerializer[AnswerFeedback]):
    """What you said of the answer."""

    reason = serializers.ChoiceField(AnswerFeedback.Reason.choices, allow_blank=True)

    class Meta:
        model = AnswerFeedback
        fields = ("helpful", "reason", "source", "note", "at")
        read_only_fields = fields


class _GivenSerializer(serializers.Serializer[Any]):
    """What every form of an answer has."""

    id = serializers.UUIDField()
    query = serializers.CharField()
    question = serializers.CharField(help_text="The query under its name of 0.2.")
    asked_mode = serializers.ChoiceField(choices=MODES)
    mode = serializers.ChoiceField(choices=MODES, help_text="The mode that it took.")
    state = serializers.ChoiceField(
        choices=STATES, help_text="`refused`: nothing that you may read seems to answer."
    )
    text = serializers.CharField(
        help_text="Markdown, with citation markers such as `[1]`; empty if it is withheld."
    )
    confidence = serializers.FloatField(allow_null=True, help_text=CONFIDENCE)
    model = serializers.CharField(help_text="Empty: it consists of quotes.")
    thread = serializers.UUIDField(allow_null=True)
    withheld = serializers.BooleanField(
        help_text="You may no longer read all of its sources: it is empty."
    )


class AnswerSerializer(_GivenSerializer):
    """An answer with its sources, sentences, steps and cost."""

    searched_for = serializers.CharField(help_text="Standalone, in a conversation.")
    sentences = SentenceSerializer(many=True)
    sources = AnswerSourceSerializer(many=True)
    context_tokens = serializers.IntegerField()
    context_budget = serializers.IntegerField()
    evidence = serializers.ChoiceField(
        choices=EVIDENCE, help_text="How well its sources bear it out. `none`: do not repeat it."
    )
    retrieval_confidence = serializers.FloatField(allow_null=True, help_text="Of its search.")
    supported = serializers.FloatField(
        allow_null=True, help_text="The share of the checked sentences that are supported."
    )
    degraded = serializers.ListField(
        child=serializers.CharField(),
        help_text="What failed, such as `model`, `budget` or `vector`.",
    )
    notes = serializers.ListField(child=serializers.CharField())
    steps = StepSerializer(many=True)
    usage = UsageSerializer()
    dropped_citations = serializers.IntegerField(help_text="Markers of sources that do not exist.")
    milliseconds = serializers.FloatField()
    first_token_milliseconds = serializers.FloatField(allow_null=True)
    error = serializers.CharField(help_text="The code of a failure; otherwise empty.")


class StoredAnswerSerializer(AnswerSerializer):
    """An answer as it was given. If it is `withheld`, only its question, modes and state remain."""

    at = serializers.DateTimeField()
    feedback = FeedbackSerializer(allow_null=True, help_text="Your own; null: none.")


class AnswerSummarySerializer(_GivenSerializer):
    """An answer in a list."""

    at = serializers.DateTimeField()


class GiveFeedbackSerializer(Parameters):
    """Whether an answer helped, and why not."""

    helpful = BooleanField()
    reason = ChoiceField(
        choices=AnswerFeedback.Reason.choices,
        required=False,
        allow_blank=True,
        default="",
        help_text="Only of an answer that did not help: `wrong`, `incomplete`, `source` (the "
        "wrong source), `outdated` or `other`.",
    )
    source = serializers.IntegerField(  # type: ignore[assignment]
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=32_767,
        help_text="The number of the source, if the reason is `source` or `outdated`.",
    )
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=MAX_NOTE)


def stored(rows: Sequence[Answer], request: Request) -> list[dict[str, Any]]:
    """Each answer in full, with the reader's own feedback; one query, for rows with sources."""
    keys, visitor = [row.pk for row in rows], visitor_of(request)
    ratings = AnswerFeedback.objects.filter(answer__in=keys, visitor=visitor)
    own = {each.answer_id: FeedbackSerializer(each).data for each in ratings}
    absolute = request.build_absolute_uri
    return [
        {"at": row.at, "feedback": own.get(row.pk)}
        | answer_data(recording.for_reader(row), absolute)
        for row in rows
    ]


def summary(row: Answer) -> dict[str, Any]:
    """An answer in a list of the reader's own."""
    is_withheld = row.is_withheld
    return {
        **{name: getattr(row, name) for name in _OF_ROW},
        "id": row.public_id,
        "query": row.question,
        "text": "" if is_withheld else row.text,
        "confidence": None if is_withheld else row.confidence,
        "thread": row.thread.public_id if row.thread is not None else None,
        "withheld": is_withheld,
    }


class AskParameters(QuestionParameters):
    """A question, how it is to be answered, and in which conversation."""

    query = serializers.CharField(help_text="As of a search; not empty.")
    weights = WeightsObjectField()
    mode = ChoiceField(
        choices=[mode.value for mode in Mode],
        required=False,
        help_text="`instant`: one search, and quotes or one call of the model. `auto`: more if "
        "the confidence is low. `thinking`: several searches and one repair. By default that of "
        "the answer settings.",
    )
    thread = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="One of your threads. The question follows those asked there before.",
    )
    searched_for = serializers.CharField(
        required=False,
        max_length=MAX_QUERY_CHARS,
        help_text="Search for this in place of a standalone question from `query` and the thread.",
    )
    stream = BooleanField(
        required=False,
        help_text="Send the answer as events while it is written; without it, that is done if the "
        f"header `Accept` prefers {EVENT_STREAM}.",
    )
    texts = BooleanField(
        default=True, help_text="Whether each source includes the text of its passage."
    )
