"""What the API shows of a score: its tier, its parts, and how they make it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from search.domain import Contribution, Explanation, Leaf, Node, Operation
from search.tuning.api.serializers.profiles import SIGNALS


class ContributionSerializer(serializers.Serializer[Contribution]):
    """A signal's part of a score: `value` is `weight` times `strength`, made from `raw`."""

    signal = serializers.ChoiceField(choices=SIGNALS)
    raw = serializers.FloatField(allow_null=True)
    strength = serializers.FloatField()
    weight = serializers.FloatField()
    value = serializers.FloatField()


class TierSerializer(serializers.Serializer[Any]):
    """What comes before the score. A lower order comes first."""

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
    """Why a result stands where it stands: its tier, then its score.

    `tree` is how the contributions (and boosts) make the score: the leaves, combined by each
    node's operation (sum, product, largest), give it exactly.
    """

    score = serializers.FloatField()
    tier = TierSerializer()
    contributions = ContributionSerializer(many=True)
    tree = serializers.SerializerMethodField()

    @extend_schema_field(_TREE_SCHEMA)
    def get_tree(self, explanation: Explanation) -> dict[str, object]:
        return as_tree(explanation.root)


class AdjustmentSerializer(serializers.Serializer[Any]):
    """What a score is multiplied by or what is added to it, after its contributions."""

    operation = serializers.ChoiceField(choices=[Operation.SUM.value, Operation.PRODUCT.value])
    label = serializers.CharField()  # type: ignore[assignment]  # a field's own attribute
    value = serializers.FloatField()


class TermSerializer(serializers.Serializer[Any]):
    """A word of the query, in how many readable chunks it stands, and its idf."""

    lexeme = serializers.CharField()
    chunks = serializers.IntegerField()
    idf = serializers.FloatField()
