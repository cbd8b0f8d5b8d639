"""Metadata in the API: an object in answers and bodies, its JSON in multipart forms."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingestion.errors import InvalidMetadata
from ingestion.metadata import check_metadata

_TEXTS = {"type": "array", "items": {"type": "string"}}
_VALUE = {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, _TEXTS]}


@extend_schema_field({"type": "object", "additionalProperties": _VALUE})
class MetadataField(serializers.JSONField):
    """A flat object of texts, numbers, dates as texts, booleans and lists of texts."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return check_metadata(super().to_internal_value(data))
        except InvalidMetadata as error:
            raise serializers.ValidationError(str(error), code=error.code) from error
        except RecursionError:
            self.fail("invalid")
