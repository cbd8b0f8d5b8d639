"""The parameters of a search request, and the response that states an error."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.views import set_rollback

from common import UserError
from common.api import errors
from common.api.pages import MAX_PAGE
from common.api.serializers import BooleanField, ChoiceField, Parameters
from common.api.viewsets import repeatable
from ingestion.api.serializers import LanguageField, MediaTypeField
from ingestion.models import Document
from search.api.results import CONCEPT_RAG
from search.domain import MetadataFilter, QueryClass, Signal, Weights
from search.errors import InvalidFilter
from search.pipeline import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Choices
from search.query import MAX_QUERY_CHARS
from search.query.field_operators import metadata_filter
from search.retrieval import Filters, facets


def error_response(error: Exception, context: Mapping[str, Any]) -> errors.Problem | None:
    """The response that states `error`; None for an unexpected one, which becomes a 500."""
    if isinstance(error, Document.DoesNotExist):
        error = Http404()  # deleted since the view read it
    if isinstance(error, UserError):
        set_rollback()
        return errors.Problem(error.code, str(error), error.status, headers=error.headers)
    return errors.error_response(error, context)


class MetadataConditionField(serializers.CharField):
    """A condition on metadata: `department:Sales`, `year>=2024`."""

    def to_internal_value(self, data: Any) -> MetadataFilter:  # type: ignore[override]
        try:
            return metadata_filter(super().to_internal_value(data))
        except InvalidFilter as error:
            raise serializers.ValidationError(str(error)) from error


class WeightsField(serializers.CharField):
    """Weights as `vector:0.6,keyword:0.3,title:0.1`; the weight of an omitted signal is 0.

    In JSON an object will do, which responses have.
    """

    def to_internal_value(self, data: Any) -> Weights:  # type: ignore[override]
        shares = dict.fromkeys((signal.value for signal in Signal), 0.0)
        seen: set[str] = set()
        if isinstance(data, Mapping):
            data = ",".join(f"{name}:{share}" for name, share in data.items())
        for part in super().to_internal_value(data).split(","):
            name, _, share = (piece.strip() for piece in part.partition(":"))
            if name not in shares or name in seen:
                raise serializers.ValidationError(
                    f"Give each of {', '.join(shares)} at most once, as in "
                    "vector:0.6,keyword:0.3,title:0.1."
                )
            seen.add(name)
            try:
                shares[name] = float(share)
            except ValueError as error:
                raise serializers.ValidationError(
                    f"The weight of {name} must be a number."
                ) from error
        try:
            return Weights(**shares)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error


class QuestionParameters(Parameters):
    """A question, what it is restricted to, and how it is ranked.

    `class` is declared under another name: it is a keyword.
    """

    old_names = MappingProxyType({"q": "query"})

    query = serializers.CharField(
        allow_blank=True,
        trim_whitespace=False,
        help_text=f"The question, up to {MAX_QUERY_CHARS:,} characters. It may hold "
        '`"exact words"`, `-word`, '
        "and `title:`, `collection:`, `type:`, `tag:`, `lang:`, `before:`, `after:`, `meta.KEY:` "
        "with a value, and `meta.KEY>=` with a number or a day.",
    )
    collection = repeatable(
        serializers.CharField(max_length=120), "Collection slugs; may be repeated."
    )
    document = repeatable(serializers.UUIDField(), "Ids of documents; may be repeated.")
    type = repeatable(
        MediaTypeField(max_length=120), "Extensions (pdf, md) or media types; may be repeated."
    )
    language = repeatable(LanguageField(max_length=35), "Two-letter codes; may be repeated.")
    meta = repeatable(
        MetadataConditionField(),
        "Conditions on metadata: `KEY:value`, or `KEY>=value` (also >, <, <=) for "
        "numbers and days. May be repeated; of several values of one key, one must match.",
    )
    after = serializers.DateField(required=False, help_text="Added on this day or later.")
    before = serializers.DateField(required=False, help_text="Added on this day or earlier.")
    current = BooleanField(
        default=False,
        help_text="Leaves out documents that are superseded, expired or not yet valid.",
    )
    profile = serializers.CharField(
        required=False,
        max_length=80,
        help_text="A published profile in place of the active one, or of the one that the "
        "collection or type names: `name` or `name@version`.",
    )
    weights = WeightsField(
        required=False,
        help_text="Weights in place of the profile's, summing to 1: "
        "`vector:0.6,keyword:0.3,title:0.1`.",
    )
    exact = BooleanField(
        default=False,
        help_text="Search for the query as typed, even if it is misspelt. By default its "
        "correction is searched instead, and the response says so.",
    )
    insist = BooleanField(
        default=False,
        help_text="Quoted words and hyphens bind, also in a long text, and also where they leave "
        "nothing; otherwise such a search ranks without them and `notes` says so.",
    )
    abstain_below = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=1,
        help_text="Return nothing if the confidence is less than this: no results, or an answer "
        "whose state is `refused`.",
    )
    rectangles = BooleanField(
        default=False,
        help_text="Adds the places of passages on the pages of their originals, which are drawn "
        "for it if they were not before; not to a stream.",
    )

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for facet in facets.installed():
            fields[facet.name] = repeatable(serializers.CharField(max_length=200), facet.help_text)
        fields["class"] = ChoiceField(
            choices=[query_class.value for query_class in QueryClass],
            required=False,
            help_text="The query's class, in place of the classifier's.",
        )
        return fields

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "after" in attrs and "before" in attrs and attrs["after"] > attrs["before"]:
            raise serializers.ValidationError(
                {"after": ["No day is after it and before `before`."]}
            )
        return attrs

    @property
    def filters(self) -> Filters:
        data = self.validated_data
        return Filters(
            collections=tuple(data.get("collection", ())),
            media_types=tuple(data.get("type", ())),
            languages=tuple(data.get("language", ())),
            after=data.get("after"),
            before=data.get("before"),
            documents=tuple(data.get("document", ())),
            metadata=tuple(data.get("meta", ())),
            facets=facets.chosen(lambda name: data.get(name, ())),
            current=data["current"],
        )

    @property
    def choices(self) -> Choices:
        data = self.validated_data
        query_class = data.get("class")
        return Choices(
            profile=data.get("profile", ""),
            query_class=QueryClass(query_class) if query_class else None,
            weights=data.get("weights"),
            exact=data["exact"],
            insist=data["insist"],
        )


_SHARES = {"type": "object", "additionalProperties": {"type": "number"}}


@extend_schema_field({"oneOf": [_SHARES, {"type": "string"}]})
class WeightsObjectField(WeightsField):
    """Weights in a body: as an object, as responses have them, or as text."""

    def __init__(self) -> None:
        super().__init__(required=False, help_text="Weights in place of the profile's: {...}.")


class SearchParameters(QuestionParameters):
    """The parameters of a search."""

    page = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=1)
    page_size = serializers.IntegerField(
        min_value=1, max_value=MAX_PAGE_SIZE, default=DEFAULT_PAGE_SIZE
    )
    group = BooleanField(
        default=True,
        help_text="Group results by document: each appears once, with its best passage, the "
        "others folded under it, and so "
        "near-duplicates in other documents. `false`: every passage in a place of its own.",
    )
    explain = BooleanField(
        default=False, help_text="Adds each result's whole explanation and the query's terms."
    )
    legacy = ChoiceField(
        choices=[CONCEPT_RAG],
        required=False,
        help_text="Adds the score fields that concept-rag's clients read, as its profiles do.",
    )


class SearchBody(SearchParameters):
    """The parameters of a search in JSON."""

    weights = WeightsObjectField()
