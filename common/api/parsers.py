"""The parsers of JSON bodies, apart from other helpers: DRF imports them before its own views."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser


class BoundedJSONParser(JSONParser):
    """A JSON parser that refuses what is nested too deeply to be read."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("The body is nested too deeply.") from error


class ObjectJSONParser(BoundedJSONParser):
    """A parser of JSON objects that refuses values which no field could hold.

    These are texts with null characters or unpaired surrogates, which Postgres and UTF-8 cannot
    store, and numbers beyond the range of a float, which Python reads as infinity.
    """

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = super().parse(stream, media_type, parser_context)
        if not isinstance(body, dict):
            raise ValidationError({"non_field_errors": ["Send a JSON object: {...}."]})
        for name, value in body.items():
            if problem := _problem(name) or _problem(value):
                # A name that cannot be encoded cannot be named in the response either.
                raise ValidationError({name.encode(errors="replace").decode(): [problem]})
        return body


def _problem(value: Any) -> str:
    """What is wrong with a value or anything within it; empty: nothing."""
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
