"""Results in the API: passage, document, explanation, what is folded below; and sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingestion.api.serializers import CurrencyField, DocumentDateField, MetadataField
from ingestion.documents.currency import as_data
from search.domain import (
    Contribution,
    EvidenceLevel,
    Explanation,
    Leaf,
    Node,
    Operation,
    Signal,
)
from search.presentation.passage_blocks import NamedSection
from search.presentation.results import Result
from search.tuning.api.profile_serializers import SIGNALS, SignalValuesSerializer

CONCEPT_RAG = "concept-rag"
EVIDENCE = [each.value for each in EvidenceLevel]
# Fields whose rows have values as JSON shows them.
PLAIN = {
    serializers.BooleanField,
    serializers.CharField,
    serializers.FloatField,
    serializers.IntegerField,
}

Row = TypeVar("Row")


class DirectSerializer(serializers.Serializer[Row]):
    """A serializer that reads the sources of its declared fields itself, or calls their get_NAME.

    Django REST framework copies and calls each field for every request and result: that took two
    thirds of a cached search.
    """

    optional: ClassVar[Mapping[str, str]] = {}
    """Fields that are shown unless this name is false in the context."""

    def get_fields(self) -> dict[str, Any]:
        return {name: each for name, each in super().get_fields().items() if self._shows(name)}

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return {name: read(instance) for name, read in self._readers}

    def _shows(self, name: str) -> bool:
        return name not in self.optional or bool(self.context.get(self.optional[name], True))

    @cached_property
    def _readers(self) -> list[tuple[str, Callable[[Any], Any]]]:
        fields = self._declared_fields.items()
        return [(name, self._reader(name, field)) for name, field in fields if self._shows(name)]

    def _reader(self, name: str, field: Any) -> Any:
        """A function from a row to the value of a field."""
        if method := getattr(self, f"get_{name}", None):
            return method
        if type(field) in PLAIN:
            return attrgetter(field.source or name)
        child = getattr(field, "child", field)
        # Others need no context: their fields are copied once.
        own = type(child)(context=self.context) if isinstance(child, DirectSerializer) else child
        show = (own if isinstance(child, serializers.Serializer) else field).to_representation
        if field.source == "*":
            return show
        get = attrgetter(field.source or name)
        if type(child) in PLAIN:
            return lambda row: list(get(row))
        if isinstance(field, serializers.ListSerializer):
            return lambda row: list(map(show, get(row)))
        return lambda row: None if (value := get(row)) is None else show(value)


def _raw(signal: Signal) -> Callable[[Explanation], float]:
    """A signal's raw score; 0 if it did not run or cannot score the passage."""

    def score(explanation: Explanation) -> float:
        scores = (part.raw for part in explanation.contributions if part.signal is signal)
        return next((raw for raw in scores if raw is not None), 0.0)

    return score


@extend_schema_field(OpenApiTypes.DOUBLE)
class LegacyScoreField(serializers.Field[Explanation, Any, float, Explanation]):
    """One of concept-rag's fields, from a result's explanation."""

    def __init__(self, score: Callable[[Explanation], float], about: str) -> None:
        self._score = score
        about = f"With legacy={CONCEPT_RAG}. {about}"
        super().__init__(source="hit.explanation", required=False, help_text=about)

    def to_representation(self, value: Explanation) -> float:
        return self._score(value)


def wants_legacy(form: str, profile: str) -> bool:
    """True on request, and under every concept-rag profile."""
    return CONCEPT_RAG in (form, profile.partition(":")[0])


class ContributionSerializer(serializers.Serializer[Contribution]):
    """A signal's part of a score: `value` is `weight` times `strength`, made from `raw`."""

    signal = serializers.ChoiceField(choices=SIGNALS)
    raw = serializers.FloatField(allow_null=True)
    strength = serializers.FloatField(source="normalised")
    weight = serializers.FloatField()
    value = serializers.FloatField()


class TierSerializer(serializers.Serializer[Any]):
    """A tier ranks above all scores. A lower order ranks first."""

    order = serializers.ListField(child=serializers.FloatField())
    reason = serializers.CharField()


def as_tree(node: Node) -> dict[str, object]:
    """A part of a score as JSON: its parts, by its operation, make its value."""
    tree: dict[str, object] = {"label": node.label, "value": node.value}
    if not isinstance(node, Leaf):
        tree |= {"operation": node.operation, "parts": [as_tree(part) for part in node.parts]}
    return tree


_TREE_SCHEMA = {
    "type": "object",
    "required": ["label", "value"],
    "properties": {
        "label": {"type": "string"},
        "value": {"type": "number"},
        "operation": {"type": "string", "enum": [operation.value for operation in Operation]},
        "parts": {"type": "array", "items": {"type": "object", "additionalProperties": True}},
    },
}


class ExplanationSerializer(serializers.Serializer[Explanation]):
    """Why a result has its rank: its tier, then its score.

    `tree` is how the contributions (and boosts) make the score: the leaves, combined by each
    node's operation (sum, product, largest), give it exactly.
    """

    score = serializers.FloatField()
    tier = TierSerializer()
    contributions = ContributionSerializer(many=True)
    note = serializers.CharField(
        allow_blank=True, help_text="Why its weights are not the query's; mostly empty."
    )
    tree = serializers.SerializerMethodField()

    @extend_schema_field(_TREE_SCHEMA)
    def get_tree(self, explanation: Explanation) -> dict[str, object]:
        return as_tree(explanation.root)


class AdjustmentSerializer(serializers.Serializer[Any]):
    """A factor or an added term of a score, applied after its contributions."""

    operation = serializers.ChoiceField(choices=[Operation.SUM.value, Operation.PRODUCT.value])
    label = serializers.CharField()  # type: ignore[assignment]  # a field's own attribute
    value = serializers.FloatField()


class DocumentLinkSerializer(DirectSerializer[Result]):
    """The document that contains a passage. `url` opens it at the passage."""

    id = serializers.UUIDField(source="document_id")
    title = serializers.CharField()
    url = serializers.SerializerMethodField()
    date = serializers.SerializerMethodField()

    @extend_schema_field(DocumentDateField())
    def get_date(self, result: Result) -> dict[str, str] | None:
        return result.date.as_data() if result.date else None

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, result: Result) -> str:
        return self._site + result.address

    @cached_property
    def _site(self) -> str:
        site: str = self.context["request"].build_absolute_uri("/")
        return site.removesuffix("/")


class DocumentReferenceSerializer(DocumentLinkSerializer):
    """The document that contains a result. `url` opens it at the passage."""

    file_name = serializers.CharField()
    media_type = serializers.CharField()
    language = serializers.CharField()
    created = serializers.DateTimeField()
    metadata = MetadataField()
    gap = serializers.CharField(
        help_text="What of the document is not searchable, in words; empty if nothing is known."
    )
    currency = serializers.SerializerMethodField()

    @extend_schema_field(CurrencyField(help_text="Whether the document is current."))
    def get_currency(self, result: Result) -> Any:
        return as_data(result.currency, self.context["request"].build_absolute_uri)


class CollectionReferenceSerializer(DirectSerializer[Result]):
    """The collection that contains a result."""

    slug = serializers.CharField(source="collection_slug")
    name = serializers.CharField(source="collection")


class NamedSectionSerializer(DirectSerializer[NamedSection]):
    """The section of a passage that matched; `path` ends with its `heading`.

    `anchor` is unique in the document, whose page has it as `#section-ANCHOR`. It is empty for the
    headings above all of the passage.
    """

    heading = serializers.CharField()
    anchor = serializers.CharField()
    path = serializers.ListField(child=serializers.CharField())


class RectanglesSerializer(serializers.Serializer[Any]):
    """The lines of a passage on one page of the original."""

    page = serializers.IntegerField(help_text="From 1.")
    boxes = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(), min_length=4, max_length=4),
        help_text="Left, top, right and bottom of each line, in 0 to 1 of the page's width and "
        "height, from its top left corner.",
    )


def rectangles_field(what: str) -> RectanglesSerializer:
    """The places of something on the pages of its document."""
    text = (
        f"With rectangles=true: the places of {what}, by page. Empty if the document has no "
        "pictures of pages, or none holds it; null if a page was not drawn in time: ask again."
    )
    return RectanglesSerializer(many=True, required=False, allow_null=True, help_text=text)


class PassageSerializer(DirectSerializer[Result]):
    """A passage's rank and place."""

    rank = serializers.IntegerField(source="hit.rank")
    chunk = serializers.IntegerField(help_text="The passage's place in its document, from 0.")
    heading_path = serializers.ListField(
        child=serializers.CharField(), help_text="The headings above all of the passage."
    )
    section = NamedSectionSerializer(allow_null=True)
    page = serializers.IntegerField(allow_null=True)
    snippet = serializers.CharField()


class FoldedSerializer(PassageSerializer):
    """A passage folded under a better one. `snippet` is escaped HTML with <mark>, shorter."""

    score = serializers.FloatField(source="hit.ranked_score")
    document = DocumentLinkSerializer(source="*")


class ResultSerializer(PassageSerializer):
    """A passage. `snippet` is escaped HTML with <mark>. `contributions` make the score by the
    profile's fusion (a sum, mostly), then `adjustments` in their order.

    `rank` is the passage's among all passages; those folded under a better one have ranks too.

    `tier` says why it comes before every score; it is empty for a result that does not.
    """

    score = serializers.FloatField(source="hit.score")
    document = DocumentReferenceSerializer(source="*")
    collection = CollectionReferenceSerializer(source="*")
    text = serializers.CharField()
    edited = serializers.BooleanField(
        source="is_edited", help_text="An administrator changed this text by hand."
    )
    note = serializers.CharField(help_text="The administrator's note; empty unless you are staff.")
    contributions = serializers.SerializerMethodField()
    adjustments = serializers.SerializerMethodField()
    tier = serializers.CharField(source="hit.explanation.tier.reason")
    folded = serializers.SerializerMethodField(
        help_text="The best of what is folded under this passage: others of its document, and "
        "nearly the same text in other documents, one passage each."
    )
    folded_count = serializers.IntegerField(
        help_text="All passages folded under this one. Search with this document's id and "
        "`group=false` for all of its passages."
    )
    explanation = ExplanationSerializer(
        source="hit.explanation", required=False, help_text="With explain=1."
    )
    rectangles = rectangles_field("all of the passage")
    team = serializers.SerializerMethodField(
        help_text="In an experiment: `a` or `b`, the ranking that contributed the "
        "result and explains its score; empty if both did. Otherwise empty."
    )

    _vector_score = LegacyScoreField(_raw(Signal.VECTOR), "The cosine, unscaled.")
    _bm25_score = LegacyScoreField(_raw(Signal.KEYWORD), "The keyword score, unscaled.")
    _title_score = LegacyScoreField(_raw(Signal.TITLE), "The title score, unscaled.")
    _hybrid_score = LegacyScoreField(attrgetter("score"), "The score.")
    _distance = LegacyScoreField(lambda e: 1 - e.score, "1 - score: below 0 for a score above 1.")

    optional: ClassVar[Mapping[str, str]] = {
        "explanation": "explain",
        "rectangles": "rectangles",
        **dict.fromkeys(
            ("_vector_score", "_bm25_score", "_title_score", "_hybrid_score", "_distance"), "legacy"
        ),
    }

    def get_rectangles(self, result: Result) -> Any:
        return self.context["rectangles"][result.hit.chunk_id]

    @extend_schema_field({"type": "string", "enum": ["a", "b", ""]})
    def get_team(self, result: Result) -> str:
        return result.group.team or ""

    @extend_schema_field(FoldedSerializer(many=True))
    def get_folded(self, result: Result) -> Any:
        passages = sorted((*result.folded, *result.copies), key=lambda passage: passage.hit.rank)
        return [self._folded.to_representation(passage) for passage in passages]

    @cached_property
    def _folded(self) -> FoldedSerializer:
        """One serializer for the folded passages of all results."""
        return FoldedSerializer(context=self.context)

    @extend_schema_field(AdjustmentSerializer(many=True))
    def get_adjustments(self, result: Result) -> list[dict[str, object]]:
        return [
            {"operation": operation, "label": part.label, "value": part.value}
            for operation, part in result.hit.explanation.adjustments
        ]

    @extend_schema_field(SignalValuesSerializer)
    def get_contributions(self, result: Result) -> dict[str, float]:
        shares = {signal.value: 0.0 for signal in Signal}
        for part in result.hit.explanation.contributions:
            shares[part.signal.value] += part.value
        return shares


class SectionSerializer(serializers.Serializer[Any]):
    """The passages `first` to `last` of a document, the one asked for among them.

    `start` and `end` are character offsets into the document's extracted text. `is_whole` says
    that it ends where its heading's section does; otherwise there is more of it.
    """

    document = serializers.UUIDField(source="document.public_id", help_text="The document's id.")
    title = serializers.CharField(source="document.title")
    chunk = serializers.IntegerField(source="requested", help_text="The requested passage, from 0.")
    heading_path = serializers.ListField(
        child=serializers.CharField(),
        source="section.path",
        help_text="The headings above the whole section, outermost first.",
    )
    page = serializers.IntegerField(allow_null=True, help_text="Where it begins.")
    first = serializers.IntegerField(
        source="section.first", help_text="The ordinal of its first passage."
    )
    last = serializers.IntegerField(
        source="section.last", help_text="The ordinal of its last passage."
    )
    start = serializers.IntegerField(source="section.start")
    end = serializers.IntegerField(source="section.end")
    tokens = serializers.IntegerField(source="section.tokens", help_text="Of the embedding model.")
    is_whole = serializers.BooleanField(source="section.is_whole")
    text = serializers.CharField(help_text="Without overlaps, with hand edits.")
