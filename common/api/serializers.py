"""Serializers that refuse unknown names, and fields for the whole API."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from functools import cache, cached_property
from typing import Any, ClassVar, NoReturn, TypeVar

from django.conf import settings
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import models
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser
from rest_framework.utils.json import strict_constant
from rest_framework.utils.serializer_helpers import BindingDict

Row = TypeVar("Row", bound="Any")

ONCE = "Give it once."
BLANK = "This field may not be blank."
NO_LIST = "Send a list, also of one value: [...]."
LISTS = (serializers.ListField, serializers.ManyRelatedField)
NUMBERS = (serializers.IntegerField, serializers.FloatField, serializers.DecimalField)
TEXTS = (serializers.CharField, serializers.UUIDField)
SURROGATE = re.compile(r"[\ud800-\udfff]").search
# What int and float of Python read besides numbers as JSON has them.
GUESSED = re.compile(r"_|nan|inf|[^\x00-\x7f]", re.IGNORECASE).search


def refuse_unknown(names: Iterable[str], known: Iterable[str], noun: str) -> None:
    """Raise ValidationError for each of `names` that is not in `known`.

    Ignoring a misspelled filter would return the wrong rows.
    """
    known = list(known)
    if unknown := sorted(set(names) - set(known)):
        raise ValidationError({name: [unknown_name(name, known, noun)] for name in unknown})


def unknown_name(name: str, known: Sequence[str], noun: str) -> str:
    """The sentence on a name that is not known, with the known ones and the nearest."""
    if not known:
        return f"There is no such {noun}: none is read here."
    near = get_close_matches(name, known, 1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"There is no such {noun}.{meant} Known are: {', '.join(known)}."


class BooleanField(serializers.BooleanField):
    """true or false, in JSON and as text in any case, or 1 or 0: other words would be guesses."""

    TRUE_VALUES = {"true", "1", True}
    FALSE_VALUES = {"false", "0", False}
    NULL_VALUES = {None}
    default_error_messages: ClassVar[Any] = {"invalid": "“{input}” is neither true nor false."}


class ChoiceField(serializers.ChoiceField):
    """A choice whose error message lists the choices."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid_choice": "“{input}” is not a valid choice. Use one of: {choices}."
    }

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        names = ", ".join(self.choice_strings_to_values)
        super().fail(key, choices=names, **kwargs)


class Strict:
    """A serializer mixin: an unknown name, or one given twice, is an error in query and body."""

    noun: str = "field"
    old_names: ClassVar[Mapping[str, str]] = {}
    """The names of 0.2 with those in their place, accepted until 0.4."""
    has_old_names = False  # whether the request has one
    serializer_choice_field: Any = ChoiceField
    serializer_field_mapping: ClassVar[Any] = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.BooleanField: BooleanField,
    }

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            data = self._renamed(data)
            fields: Mapping[str, Any] = self.fields  # type: ignore[attr-defined]
            writable = {name: each for name, each in fields.items() if not each.read_only}
            if isinstance(data, QueryDict):
                data = _values(data, writable)
            refuse_unknown(data, writable, self.noun)
            wrong = {name: _mistyped(writable[name], value) for name, value in data.items()}
            if any(wrong.values()):
                raise ValidationError({name: [text] for name, text in wrong.items() if text})
        return super().to_internal_value(data)  # type: ignore[misc]

    def _renamed(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data under their present names. Raises ValidationError for one under both."""
        for old in self.old_names.keys() & data.keys():
            self.has_old_names, name = True, self.old_names[old]
            if name in data:
                raise ValidationError({old: [f"It is `{name}` now, which you gave as well."]})
            data = data.copy() if isinstance(data, QueryDict) else dict(data)
            if isinstance(data, QueryDict):
                data.setlist(name, data.pop(old))
            else:
                data[name] = data.pop(old)
        return data


def _mistyped(field: Any, value: Any) -> str:
    """The message on a value of another type that Django REST framework would convert; or none.

    It makes texts of numbers, ids of integers, numbers of true, of “1_0” and of other scripts, and
    null of an empty key.
    """
    if value == "" and isinstance(field, serializers.RelatedField):
        return BLANK
    if isinstance(field, LISTS):
        if not isinstance(value, list | None):
            return NO_LIST
        inner = getattr(field, "child", None)
        return next(filter(None, (_mistyped(inner, each) for each in value or ())), "")
    if isinstance(field, NUMBERS):
        is_wrong = isinstance(value, bool) or (isinstance(value, str) and GUESSED(value))
    else:
        is_wrong = isinstance(field, TEXTS) and isinstance(value, int | float)
    return str(field.error_messages["invalid"]).format(value=value) if is_wrong else ""


def _values(form: QueryDict, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an address, or the fields of a form, as JSON would hold them.

    Django REST framework takes the last of several values, drops an empty one, and drops the JSON
    of a serializer, whose fields it reads as name.field. Raises ValidationError for what may
    stand once and stands twice, and for what is no JSON.
    """
    values: dict[str, Any] = {}
    errors: dict[str, list[str]] = {}
    for name, texts in form.lists():
        holder, key, field = values, name, fields.get(name)
        outer, _, inner = name.partition(".")
        if field is None and inner in (within := getattr(fields.get(outer), "fields", {})):
            if outer in form:
                continue  # refused there
            holder, key, field = values.setdefault(outer, {}), inner, within[inner]
        if field is None or isinstance(field, serializers.ListField):
            holder[key] = texts
        elif len(texts) > 1:
            errors[name] = [ONCE]
        elif isinstance(field, serializers.BaseSerializer | serializers.JSONField):
            try:
                text: Any = None if _has_inner(form, name) else texts[0]
                holder[key] = json.loads(text, object_pairs_hook=_once)
            except (TypeError, ValueError, RecursionError):
                errors[name] = [field.error_messages["invalid"].format(datatype="text")]
        else:
            holder[key] = texts[0]
    if errors:
        raise ValidationError(errors)
    return values


def _has_inner(form: QueryDict, name: str) -> bool:
    return any(each.startswith(f"{name}.") for each in form)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON. Raises ValidationError for a name that stands twice in it."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValidationError({twice.encode(errors="replace").decode(): [ONCE]})
    return values


class FileField(serializers.FileField):
    """A file of a form; without curl's @ its name arrives in its place."""

    default_error_messages: ClassVar[Any] = {
        "required": "No file was submitted, or one whose name is not in UTF-8.",
        "invalid": "This is not a file. Send a form (multipart/form-data); curl wants an @ before "
        "the file's name, as in -F file=@tides.md.",
    }


class Parameters(Strict, serializers.Serializer[Any]):
    """The parameters of an address, or the fields of a body."""

    needs_request: ClassVar[bool] = False
    """Whether fields ask for the request, as the address of a view is read."""

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


class CleanSerializer(Strict, serializers.ModelSerializer[Row]):
    """A row that its model validates, with the same checks as the admin's forms.

    `row` is the checked row with the given fields, not saved.
    """

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
            names = {
                str(each.source): name for name, each in self.fields.items() if not each.read_only
            }
            raise serializers.ValidationError(_by_field(error, names)) from error
        self.row = row
        return attrs

    def prepare(self, row: Row) -> None:
        """Set values derived from the given fields, before the model validates the row."""


def _by_field(error: DjangoValidationError, names: Mapping[str, str]) -> dict[str, list[str]]:
    """The messages by field; general ones and those of hidden fields as non_field_errors."""
    by_field: dict[str, list[str]] = {}
    for name, messages in error.message_dict.items():
        by_field.setdefault(names.get(name, "non_field_errors"), []).extend(messages)
    return by_field


class BoundedJSONParser(JSONParser):
    """A JSON parser that refuses repeated names, and values nested too deeply for Python."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        encoding = (parser_context or {}).get("encoding", settings.DEFAULT_CHARSET)
        try:
            text = codecs.getreader(encoding)(stream)
            return json.load(text, parse_constant=strict_constant, object_pairs_hook=_once)
        except RecursionError as error:
            raise ParseError("The body is nested too deeply.") from error
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from error


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
                if SURROGATE(text):
                    return "Unpaired surrogates (\\ud800 to \\udfff) are not allowed."
            case float() as number if not math.isfinite(number):
                return "The number is too large."
            case dict() as inner:
                waiting += [*inner, *inner.values()]
            case list() as inner:
                waiting += inner
    return ""
