"""What the API shows of pins, hides, synonyms and classifier rules, and what changes them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework import serializers

from common.api.serializers import ChoiceField, CleanSerializer
from ingestion.models import Document
from search.models import ClassRule, Hide, Pin, Synonym
from search.models.curated import MAX_TERM_CHARS, MAX_TERMS
from search.query import MAX_QUERY_CHARS
from search.tuning.api.serializers.profiles import CLASSES


class DocumentField(serializers.SlugRelatedField[Document]):
    """A document by its id. One that the user may not read is as unknown as a missing one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(slug_field="public_id", queryset=Document.objects.none(), **kwargs)

    def get_queryset(self) -> QuerySet[Document]:
        return Document.objects.visible_to(self.context["request"].user)


class QuestionsField(serializers.ListField):
    """Questions, one an item."""

    child = serializers.CharField(max_length=MAX_QUERY_CHARS)


class PinSerializer(CleanSerializer[Pin]):
    """A document that comes first when just this is asked. `position` counts from 1."""

    document = DocumentField(help_text="Its id.")
    title = serializers.CharField(source="document.title", read_only=True)

    class Meta:
        model = Pin
        fields: tuple[str, ...] = (
            "id", "query", "document", "title", "position", "enabled", "note", "created",
            "warnings",
        )  # fmt: skip
        read_only_fields = ("created",)
        validators: ClassVar[list[Any]] = []  # the model's own, see CleanSerializer


class HideSerializer(CleanSerializer[Hide]):
    """A document that no search finds when just this is asked; with an empty `query`, none."""

    document = DocumentField(help_text="Its id.")
    title = serializers.CharField(source="document.title", read_only=True)

    class Meta:
        model = Hide
        fields = ("id", "query", "document", "title", "enabled", "note", "created", "warnings")
        read_only_fields = ("created",)
        validators: ClassVar[list[Any]] = []


class SynonymSerializer(CleanSerializer[Synonym]):
    """Words or phrases that stand for each other; `one_way`: only the first for the others."""

    terms = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TERM_CHARS), max_length=MAX_TERMS
    )

    class Meta:
        model = Synonym
        fields = ("id", "terms", "one_way", "enabled", "note", "created", "warnings")
        read_only_fields = ("created",)


class ClassRuleSerializer(CleanSerializer[ClassRule]):
    """A rule that classifies questions, by a `pattern` or by a `predicate`."""

    query_class = ChoiceField(CLASSES)
    examples = QuestionsField(required=False, max_length=100)
    counter_examples = QuestionsField(required=False, max_length=100)

    class Meta:
        model = ClassRule
        fields = (
            "id", "name", "query_class", "pattern", "predicate", "examples", "counter_examples",
            "confidence", "position", "enabled", "warnings",
        )  # fmt: skip
