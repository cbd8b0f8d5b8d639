"""Identifier patterns over HTTP, under the rules of the admin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import transaction
from rest_framework import serializers

from common.api.requests import actor
from common.api.serializers import CleanSerializer
from common.api.viewsets import EditableViewSet
from ingestion.audit import log
from ingestion.models import IdentifierPattern
from ingestion.models.patterns import INDEXING_FIELDS


class IdentifierPatternSerializer(CleanSerializer[IdentifierPattern]):
    """One kind of identifier. Each of the examples must be recognised as a whole."""

    examples = serializers.ListField(
        child=serializers.CharField(max_length=200), allow_empty=False, max_length=100
    )
    counter_examples = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=100
    )

    class Meta:
        model = IdentifierPattern
        fields = (
            "id", "name", "regex", "normaliser", "examples", "counter_examples", "position",
            "enabled", "warnings",
        )  # fmt: skip


class IdentifierPatternViewSet(EditableViewSet[IdentifierPattern]):
    """The identifier patterns, in the order in which they are tried.

    A changed pattern reads questions at once; documents when they are processed again.
    """

    serializer_class = IdentifierPatternSerializer
    lookup_value_converter = "int"
    queryset = IdentifierPattern.objects.all()

    @transaction.atomic
    def save(self, form: Any) -> Iterable[str]:
        changed = sorted(form.validated_data)
        form.row.save()
        is_new = form.instance is None
        message = "Added" if is_new else f"Changed {' and '.join(changed) or 'nothing'}"
        log(actor(self.request), form.row, ADDITION if is_new else CHANGE, message)
        return form.row.surprises(rereads=is_new or bool(INDEXING_FIELDS & set(changed)))  # type: ignore[no-any-return]

    @transaction.atomic
    def remove(self, row: IdentifierPattern) -> None:
        log(actor(self.request), row, DELETION, "Deleted")
        row.delete()
