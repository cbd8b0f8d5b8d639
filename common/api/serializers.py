"""Serializers that refuse names they do not know, and the fields that all of the API uses."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, NoReturn, TypeVar

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers

Row = TypeVar("Row", bound="Any")

# What every request may carry beside the fields of its serializer.
ALWAYS_KNOWN = frozenset({"format", "csrfmiddlewaretoken"})


def refuse_unknown(given: Iterable[str], known: Iterable[str], noun: str = "parameter") -> None:
    """Raise ValidationError for each name in `given` that is not in `known`.

    A misspelled filter that is ignored answers another question than the one asked.
    """
    known = list(known)
    if unknown := sorted(set(given) - set(known) - ALWAYS_KNOWN):
        sentence = f"There is no such {noun}. Known are: {', '.join(known)}."
        raise serializers.ValidationError({name: [sentence] for name in unknown})


class Strict:
    """For a serializer: an unknown name in a query or a body is an error, not ignored."""

    noun: ClassVar[str] = "field"

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            fields: Mapping[str, Any] = self.fields  # type: ignore[attr-defined]
            known = [name for name, each in fields.items() if not each.read_only]
            refuse_unknown(data, known, self.noun)
        return super().to_internal_value(data)  # type: ignore[misc]


class Parameters(Strict, serializers.Serializer[Any]):
    """The parameters of an address, or the fields of a body."""

    noun = "parameter"


class ChoiceField(serializers.ChoiceField):
    """A choice whose error message lists the choices."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid_choice": "“{input}” is not a valid choice. Use one of: {choices}."
    }

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        names = ", ".join(self.choice_strings_to_values)
        super().fail(key, choices=names, **kwargs)


class CleanSerializer(Strict, serializers.ModelSerializer[Row]):
    """A row that its model checks: what a form of the admin refuses is refused here.

    `row` is the checked row with the given fields, not saved.
    """

    serializer_choice_field = ChoiceField
    row: Row

    warnings = serializers.SerializerMethodField(
        help_text="In the answer to a change: what may surprise about it."
    )

    def get_warnings(self, row: Row) -> list[str]:
        return list(self.context.get("warnings", ()))

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        model: Any = self.Meta.model
        row = model() if self.instance is None else copy(self.instance)
        related = {field.name for field in model._meta.many_to_many}
        for name in attrs.keys() - related:
            setattr(row, name, attrs[name])
        self.prepare(row)
        try:
            # Not `full_clean`: with fields left out it would skip the constraints that name them.
            row.clean_fields({field.name for field in model._meta.fields if not field.editable})
            row.clean()
            row.validate_unique()
            row.validate_constraints()
        except DjangoValidationError as error:
            raise serializers.ValidationError(_by_field(error, self.fields)) from error
        self.row = row
        return attrs

    def prepare(self, row: Row) -> None:
        """Fill in what follows from the given fields, before the model checks them."""


def _by_field(error: DjangoValidationError, known: Container[str]) -> dict[str, list[str]]:
    """The messages by field; those about none, or about one that is not shown, by no field."""
    found: dict[str, list[str]] = {}
    for name, messages in error.message_dict.items():
        found.setdefault(name if name in known else "non_field_errors", []).extend(messages)
    return found
