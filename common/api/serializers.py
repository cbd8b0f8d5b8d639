"""Serializers that refuse names they do not know, and the fields that all of the API uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NoReturn

from rest_framework import serializers

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
