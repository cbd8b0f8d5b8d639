"""Serializers that refuse unknown names, and fields for the whole API."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Mapping
from copy import copy
from functools import cache, cached_property
from typing import Any, ClassVar, NoReturn, TypeVar

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser
from rest_framework.utils.html import is_html_input
from rest_framework.utils.serializer_helpers import BindingDict

Row = TypeVar("Row", bound="Any")

# Accepted in every request, besides the fields of its serializer.
ALWAYS_KNOWN = frozenset({"format", "csrfmiddlewaretoken"})


def refuse_unknown(names: Iterable[str], known: Iterable[str], noun: str = "parameter") -> None:
    """Raise ValidationError for each name in `given` that is not in `known`.

    Ignoring a misspelled filter would return the wrong rows.
    """
    known = list(known)
    if unknown := sorted(set(names) - set(known) - ALWAYS_KNOWN):
        sentence = f"There is no such {noun}. Known are: {', '.join(known)}."
        raise serializers.ValidationError({name: [sentence] for name in unknown})


class Strict:
    """A serializer mixin: an unknown name in a query or a body is an error."""

    noun: ClassVar[str] = "field"

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            fields: Mapping[str, Any] = self.fields  # type: ignore[attr-defined]
            writable = [name for name, each in fields.items() if not each.read_only]
            if is_html_input(data):  # there alone, a serializer's fields are name.field
                for name in tuple(writable):
                    writable += [f"{name}.{inner}" for inner in getattr(fields[name], "fields", ())]
            refuse_unknown(data, writable, self.noun)
        return super().to_internal_value(data)  # type: ignore[misc]

    def get_value(self, dictionary: Any) -> Any:
        """The value of this serializer in another: in a form, JSON or its fields as name.field.

        Django REST framework reads only the latter, and drops the JSON that generated clients
        send. What is neither, both, or sent twice is returned as a text, which is invalid.
        """
        by_field = super().get_value(dictionary)  # type: ignore[misc]
        name: str = self.field_name  # type: ignore[attr-defined]
        if not is_html_input(dictionary) or name not in dictionary:
            return by_field
        texts = dictionary.getlist(name)
        if len(texts) > 1 or by_field is not serializers.empty:
            return ", ".join(map(str, texts))
        try:
            return json.loads(texts[0])
        except (TypeError, ValueError, RecursionError):
            return str(texts[0])


class FileField(serializers.FileField):
    """A file of a form; without curl's @ its name arrives in its place."""

    default_error_messages: ClassVar[Any] = {
        "invalid": "This is not a file. Send a form (multipart/form-data); curl wants an @ before "
        "the file's name, as in -F file=@tides.md."
    }


class Parameters(Strict, serializers.Serializer[Any]):
    """The parameters of an address, or the fields of a body."""

    noun = "parameter"

    @cached_property
    def fields(self) -> BindingDict:
        """The fields, of all instances of the class: to copy them took a sixth of an API search.

        A field keeps nothing of the request that it reads. One that may ask its serializer for the
        request or for what is missing (`context`, `partial`) is this instance's own.
        """
        if self.context or self.partial or self.root is not self:
            return super().fields
        return _fields_of(type(self))


@cache
def _fields_of(kind: type[Parameters]) -> BindingDict:
    """The fields of an instance that reads nothing."""
    return super(Parameters, kind()).fields


class ChoiceField(serializers.ChoiceField):
    """A choice whose error message lists the choices."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid_choice": "“{input}” is not a valid choice. Use one of: {choices}."
    }

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        names = ", ".join(self.choice_strings_to_values)
        super().fail(key, choices=names, **kwargs)


class CleanSerializer(Strict, serializers.ModelSerializer[Row]):
    """A row that its model validates, with the same checks as the admin's forms.

    `row` is the checked row with the given fields, not saved.
    """

    serializer_choice_field = ChoiceField
    row: Row

    warnings = serializers.SerializerMethodField(
        help_text="In the response to a change: possible side effects."
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
            # Not `full_clean`, which skips the constraints on excluded fields.
            row.clean_fields({field.name for field in model._meta.fields if not field.editable})
            row.clean()
            row.validate_unique()
            row.validate_constraints()
        except DjangoValidationError as error:
            raise serializers.ValidationError(_by_field(error, self.fields)) from error
        self.row = row
        return attrs

    def prepare(self, row: Row) -> None:
        """Set values derived from the given fields, before the model validates the row."""


def _by_field(error: DjangoValidationError, known: Container[str]) -> dict[str, list[str]]:
    """The messages by field; general ones and those of hidden fields as non_field_errors."""
    by_field: dict[str, list[str]] = {}
    for name, messages in error.message_dict.items():
        by_field.setdefault(name if name in known else "non_field_errors", []).extend(messages)
    return by_field


class BoundedJSONParser(JSONParser):
    """A JSON parser that refuses values nested too deeply for Python's parser."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().parse(*args, **kwargs)
        except RecursionError as error:
            raise ParseError("The body is nested too deeply.") from error


class ObjectJSONParser(BoundedJSONParser):
    """A parser of JSON objects that refuses values which no field could hold.

    These are texts with null characters or unpaired surrogates, which Postgres and UTF-8 cannot
    store, and numbers beyond the range of a float, which Python reads as infinity.
    """

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        body = super().parse(*args, **kwargs)
        if not isinstance(body, dict):
            raise ValidationError({"non_field_errors": ["Send a JSON object: {...}."]})
        for name, value in body.items():
            if problem := _problem(name) or _problem(value):
                # A name that cannot be encoded cannot be named in the response either.
                raise ValidationError({name.encode(errors="replace").decode(): [problem]})
        return body


def _problem(value: Any) -> str:
    """The problem of a value or of anything nested in it, as text; empty if there is none."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                if "\0" in text:
                    return "Null characters are not allowed."
                if not _is_unicode(text):
                    return "Unpaired surrogates (\\ud800 to \\udfff) are not allowed."
            case float() as number if not math.isfinite(number):
                return "The number is too large."
            case dict() as inner:
                waiting += [*inner, *inner.values()]
            case list() as inner:
                waiting += inner
    return ""


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
