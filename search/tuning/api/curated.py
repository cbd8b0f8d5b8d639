"""Pins, hides, synonyms, rules and profiles by scope over HTTP, under the rules of the admin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.db.models import Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request

from common.api.requests import actor
from common.api.serializers import BooleanField, ChoiceField, CleanSerializer
from common.api.viewsets import EditableViewSet, ListParameters, Row, repeatable
from ingestion.api.serializers import CollectionField, DocumentIdField, MediaTypeField
from ingestion.models import Collection, Document
from search import curation
from search.models import QUERY_CLASSES, ClassRule, Hide, Pin, ScopeProfile, Synonym
from search.models.curated import MAX_TERMS
from search.query import MAX_QUERY_CHARS
from search.query.query_key import query_key
from search.tuning.api.profile_serializers import CLASSES


class CurationSerializer(CleanSerializer[Any]):
    """A document that exactly this question pins or hides; all questions, with an empty `query`.

    Of a hide alone `query` may be empty, and it has no `position`, which counts from 1.
    """

    kind = serializers.CharField(source="_meta.model_name", read_only=True)
    document = DocumentIdField(help_text="Its id.")
    title = serializers.CharField(source="document.title", read_only=True)

    class Meta:
        model: type[Hide | Pin] = Pin
        fields: tuple[str, ...] = (
            "id", "kind", "query", "document", "title", "enabled", "note", "created", "warnings",
            "position",
        )  # fmt: skip
        read_only_fields = ("created",)
        extra_kwargs: ClassVar[Any] = {
            "query": {"required": False, "allow_blank": True},
            "position": {"min_value": 1},
        }
        validators: ClassVar[list[Any]] = []  # the model's own, see CleanSerializer


class HideSerializer(CurationSerializer):
    """The same without a position."""

    class Meta(CurationSerializer.Meta):
        model = Hide
        fields = CurationSerializer.Meta.fields[:-1]


class SynonymSerializer(CleanSerializer[Synonym]):
    """Synonymous words or phrases; `one_way`: only the first expands to the others."""

    class Meta:
        model = Synonym
        fields = ("id", "terms", "one_way", "enabled", "note", "created", "warnings")
        read_only_fields = ("created",)
        extra_kwargs: ClassVar[Any] = {"terms": {"max_length": MAX_TERMS}}


class ClassRuleSerializer(CleanSerializer[ClassRule]):
    """A rule that classifies questions, by a `pattern` or by a `predicate`."""

    query_class = ChoiceField(CLASSES)

    class Meta:
        model = ClassRule
        fields = (
            "id", "name", "query_class", "pattern", "predicate", "examples", "counter_examples",
            "confidence", "position", "enabled", "warnings",
        )  # fmt: skip
        extra_kwargs: ClassVar[Any] = {
            name: {"max_length": 100} for name in ("examples", "counter_examples")
        }


class ScopeProfileSerializer(CleanSerializer[ScopeProfile]):
    """The profile of one collection or of one document type; its version in force is used."""

    collection = CollectionField(
        required=False, allow_null=True, help_text="Its slug; null for a document type."
    )
    scope = serializers.CharField(
        source="label", read_only=True, help_text="The name of the collection or of the type."
    )

    class Meta:
        model = ScopeProfile
        fields = ("id", "collection", "media_type", "scope", "profile", "note", "warnings")
        validators: ClassVar[list[Any]] = []


class EnabledParameters(ListParameters):
    enabled = BooleanField(required=False)


class QuestionListParameters(EnabledParameters):
    query = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_QUERY_CHARS,
        help_text="The whole question; capitals and spacing make no difference.",
    )
    document = DocumentIdField(required=False, help_text="Its id.")

    def filter_query(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(folded=query_key(value))


class ClassListParameters(EnabledParameters):
    query_class = repeatable(
        ChoiceField(QUERY_CLASSES), "May be repeated.", source="query_class__in"
    )


class CuratedViewSet(EditableViewSet[Row]):
    """Manually maintained rows. 409 if a row conflicts with another one."""

    list_parameters: ClassVar[type[ListParameters]] = EnabledParameters

    def save(self, form: Any) -> Iterable[str]:
        return curation.save(form.row, form.validated_data, acting_user=actor(self.request))

    def remove(self, row: Any) -> None:
        curation.delete(row, acting_user=actor(self.request))


class CurationViewSet(CuratedViewSet[Any]):
    """Documents pinned to a question, or hidden from one or all, among those that you may read."""

    list_parameters = QuestionListParameters
    names = ("pin or hide", "pins or hides")
    serializer_class = CurationSerializer
    queryset: Any = Pin.objects.all()

    def initialize_request(self, *args: Any, **kwargs: Any) -> Request:
        """The request, of pins or of hides: they have permissions and ids of their own."""
        if self.kwargs.get("kind") == "hide":
            self.queryset, self.serializer_class = Hide.objects.all(), HideSerializer
        return super().initialize_request(*args, **kwargs)

    def get_queryset(self) -> Any:
        readable = Document.objects.visible_to(self.request.user)
        rows = super().get_queryset().filter(document__in=readable)
        return rows.select_related("document").defer("document__title_terms")


class SynonymViewSet(CuratedViewSet[Synonym]):
    """Words and phrases that are synonyms in questions."""

    serializer_class = SynonymSerializer
    queryset = Synonym.objects.all()


class ClassRuleViewSet(CuratedViewSet[ClassRule]):
    """The classifier's rules, in the order in which they are tried."""

    serializer_class = ClassRuleSerializer
    list_parameters = ClassListParameters
    queryset = ClassRule.objects.all()


class ScopeListParameters(ListParameters):
    collection = CollectionField(required=False, help_text="A slug.")
    media_type = MediaTypeField(required=False, max_length=120, help_text="Of a document type.")


class ScopeProfileViewSet(CuratedViewSet[ScopeProfile]):
    """The profiles that collections and document types name for themselves.

    Searches restricted to exactly one of them use its profile.
    """

    serializer_class = ScopeProfileSerializer
    list_parameters = ScopeListParameters
    queryset = ScopeProfile.objects.select_related("collection")

    def get_queryset(self) -> Any:
        readable = Collection.objects.visible_to(self.request.user)
        return super().get_queryset().filter(Q(collection=None) | Q(collection__in=readable))
