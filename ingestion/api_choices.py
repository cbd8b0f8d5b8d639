"""One of several words in a request to the API; a wrong one is answered with those there are."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from rest_framework import serializers


class ChoiceField(serializers.ChoiceField):
    """Rest framework's, whose message names the choices."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid_choice": "“{input}” is not a valid choice. Use one of: {choices}."
    }

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        names = ", ".join(self.choice_strings_to_values)
        super().fail(key, choices=names, **kwargs)
